// SPDX-License-Identifier: Apache-2.0

package memcached_test

import (
	"crypto/tls"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/manifests"
	"github.com/example/memcached-operator/reconcilers/render"
	"github.com/example/memcached-operator/test/testenv"
)

// patience is how long a test waits for what must happen.
var patience = testenv.Timeout

// pod is a pod of a Memcached as it is rendered, running.
type pod struct {
	port    string // memcached's
	spec    corev1.PodSpec
	output  testenv.Log
	stdin   io.WriteCloser
	ended   chan struct{}
	volumes map[string]*volume
}

// given is a Memcached, and the operator that renders it.
type given struct {
	spec     string             // defaults of inner fields filled in, as the API server does
	secrets  map[string]secret  // those that the spec names
	reloader string             // the operator's RELATED_IMAGE_MEMCACHED_RELOADER
	site     fs.FS              // the operator's --manifests-dir
	patient  bool               // whether a proxy waits for the answers of nodes for long
	cgroup   string             // of its containers; empty for the test's own
	volumes  map[string]*volume // those of the pod whose containers are started again; nil for new ones
}

// start runs the pod that is rendered for g.
func start(t *testing.T, g given) *pod {
	t.Helper()
	p := &pod{port: freePort(t), ended: make(chan struct{})}
	p.spec = rendered(t, g, "cache", p.port)
	if p.volumes = g.volumes; p.volumes == nil {
		p.volumes = volumesOf(t, p.spec, g.secrets)
	}
	box := sandbox{UID: uint32(*p.spec.SecurityContext.RunAsUser), GID: uint32(*p.spec.SecurityContext.RunAsGroup)}
	for _, c := range append(p.spec.InitContainers, p.spec.Containers...) {
		made := containerOf(t, c, p.volumes)
		made.Cgroup = g.cgroup
		box.Containers = append(box.Containers, made)
	}
	p.run(t, box)
	return p
}

// run runs box as the containers of p, until the test ends.
func (p *pod) run(t *testing.T, box sandbox) {
	t.Helper()
	command, err := box.command()
	testenv.NoError(t, err)
	command.Stdout, command.Stderr = &p.output, &p.output
	p.stdin, err = command.StdinPipe()
	testenv.NoError(t, err)
	if err := command.Start(); err != nil {
		if os.Getuid() != 0 {
			t.Skipf("pods run in namespaces, which this user may not make: run it as root (%v)", err)
		}
		t.Fatal(err)
	}
	go func() {
		defer close(p.ended)
		_ = command.Wait()
	}()
	t.Cleanup(func() {
		_ = p.stdin.Close()
		<-p.ended
		if t.Failed() {
			text := p.output.String()
			t.Logf("the last that the pod wrote:\n%s", text[max(0, len(text)-2000):])
		}
	})
}

// rendered is the pod of the Deployment called name that the templates make of a Memcached, cache, whose port is port.
func rendered(t *testing.T, g given, name, port string) corev1.PodSpec {
	t.Helper()
	mc := &cachev1alpha1.Memcached{ObjectMeta: metav1.ObjectMeta{Name: "cache", Namespace: "default", UID: "0"}}
	testenv.NoError(t, yaml.UnmarshalStrict([]byte(g.spec), &mc.Spec))
	number, err := strconv.ParseInt(port, 10, 32)
	testenv.NoError(t, err)
	mc.Spec.Size, mc.Spec.ContainerPort = new(int32(1)), new(int32(number))
	newRenderer := renderers[g.reloader]
	if g.site != nil {
		newRenderer = rendererOf(g.reloader, g.site)
	}
	renderer, err := newRenderer()
	testenv.NoError(t, err)
	objects, err := renderer.Render(mc)
	testenv.NoError(t, err)
	for _, object := range objects {
		if object.GetKind() == "Deployment" && object.GetName() == name {
			var deployment appsv1.Deployment
			testenv.NoError(t, runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &deployment))
			return deployment.Spec.Template.Spec
		}
	}
	t.Fatalf("no Deployment %s is rendered", name)
	return corev1.PodSpec{}
}

// renderers are made once: it takes longer than a test.
var renderers = map[string]func() (*render.Renderer, error){"": rendererOf(""), busybox: rendererOf(busybox)}

func rendererOf(reloader string, layers ...fs.FS) func() (*render.Renderer, error) {
	return sync.OnceValues(func() (*render.Renderer, error) {
		tree, err := render.LoadTree(append([]fs.FS{manifests.FS}, layers...)...)
		if err != nil {
			return nil, err
		}
		return render.New(tree, render.Defaults{ReloaderImage: reloader, AllowPrivilegedFields: true})
	})
}

// containerOf is what a container runtime makes of c.
func containerOf(t *testing.T, c corev1.Container, volumes map[string]*volume) container {
	t.Helper()
	image, entrypoint := imageOf(t, c.Image)
	env := map[string]string{"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}
	for _, e := range c.Env {
		env[e.Name] = expand(e.Value, env)
	}
	result := container{
		Name:   c.Name,
		Image:  image,
		Root:   t.TempDir(),
		Mounts: map[string]mount{},
	}
	if s := c.SecurityContext; s != nil && s.ReadOnlyRootFilesystem != nil {
		result.ReadOnlyRoot = *s.ReadOnlyRootFilesystem
	}
	if len(c.Command) > 0 {
		entrypoint = c.Command
	}
	for _, arg := range append(entrypoint, c.Args...) {
		result.Args = append(result.Args, expand(arg, env))
	}
	result.Path = filepath.Join("/usr/bin", result.Args[0])
	for name, value := range env {
		result.Env = append(result.Env, name+"="+value)
	}
	for _, m := range c.VolumeMounts {
		testenv.NoError(t, os.MkdirAll(filepath.Join(image, m.MountPath), 0o755))
		result.Mounts[m.MountPath] = mount{Dir: volumes[m.Name].dir, Writable: !m.ReadOnly}
	}
	return result
}

var variable = regexp.MustCompile(`\$\$|\$\(([-._a-zA-Z][-._a-zA-Z0-9]*)\)`)

// expand puts values of the environment in the place of $(NAME), as the kubelet does.
func expand(text string, env map[string]string) string {
	return variable.ReplaceAllStringFunc(text, func(found string) string {
		if found == "$$" {
			return "$"
		}
		if value, ok := env[found[2:len(found)-1]]; ok {
			return value
		}
		return found
	})
}

// connect gives a client of the pod's memcached, once it answers. With a configuration
// it speaks TLS.
func (p *pod) connect(t *testing.T, config *tls.Config) *memcached.Client {
	t.Helper()
	var client *memcached.Client
	p.eventually(t, "memcached takes a connection", func() (err error) {
		client, err = dial(t, p.port, config)
		return err
	})
	return client
}

// dial gives a client of the memcached that listens on port. TLS is shaken hands on.
func dial(t *testing.T, port string, config *tls.Config) (*memcached.Client, error) {
	t.Helper()
	dialer := &net.Dialer{Timeout: patience}
	connection, err := dialer.DialContext(t.Context(), "tcp", net.JoinHostPort("127.0.0.1", port))
	if err != nil {
		return nil, err
	}
	if config != nil {
		secure := tls.Client(connection, config)
		if err := secure.HandshakeContext(t.Context()); err != nil {
			_ = connection.Close()
			return nil, err
		}
		connection = secure
	}
	client := memcached.NewClient(connection)
	t.Cleanup(func() { _ = client.Close() })
	return client, nil
}

// eventually waits until try succeeds, and not for a pod that ended.
func (p *pod) eventually(t *testing.T, what string, try func() error) {
	t.Helper()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		err := try()
		if err == nil {
			return
		}
		select {
		case <-p.ended:
			t.Fatalf("%s: %v; the pod ended", what, err)
		case <-deadline.C:
			t.Fatalf("%s: %v, after %s", what, err, patience)
		case <-tick.C:
		}
	}
}

// freePort returns a port that is not in use, and that the kernel assigns to no other socket until the test ends: it is bound
// by a socket which does not listen, beside which others with SO_REUSEADDR, such as memcached's, may.
func freePort(t *testing.T) string {
	t.Helper()
	socket, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	testenv.NoError(t, err)
	t.Cleanup(func() { testenv.NoError(t, syscall.Close(socket)) })
	testenv.NoError(t, syscall.SetsockoptInt(socket, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1))
	testenv.NoError(t, syscall.Bind(socket, &syscall.SockaddrInet4{}))
	address, err := syscall.Getsockname(socket)
	testenv.NoError(t, err)
	return strconv.Itoa(address.(*syscall.SockaddrInet4).Port)
}
