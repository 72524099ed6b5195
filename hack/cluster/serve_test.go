package main

import (
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func TestServe_StartsControlPlane(t *testing.T) {
	t.Parallel()
	s := startServer(t, "--nodes=4")
	t.Run("a pod becomes Ready on a simulated node", s.runsPods)
	t.Run("the nodes lie in three zones", s.spansZones)
	t.Run("a service account gets a token that RBAC judges", s.judgesAccounts)
	t.Run("everything is below its directory", s.keepsToItsDirectory)
	t.Run("SIGTERM ends it and removes the directory", func(t *testing.T) {
		s.signal(t, syscall.SIGTERM)
		if status := s.wait(t); status != 0 {
			t.Errorf("exit status %d: want 0", status)
		}
		wantNothingLeft(t, s.Dir)
	})
}

func (s *server) runsPods(t *testing.T) {
	api := connect(t, s.Kubeconfig)
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "cache"},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "memcached", Image: "memcached"}}},
	}
	if err := api.Create(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the pod to be Ready", func() bool {
		if err := api.Get(t.Context(), client.ObjectKeyFromObject(pod), pod); err != nil {
			t.Fatal(err)
		}
		return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
		})
	})
	if pod.Status.PodIP == "" || pod.Spec.NodeName == "" {
		t.Errorf("pod IP %q on node %q: want both", pod.Status.PodIP, pod.Spec.NodeName)
	}
	if len(pod.Spec.Volumes) == 0 {
		t.Error("the pod has no token volume: the ServiceAccount admission plug-in is off")
	}
}

func (s *server) spansZones(t *testing.T) {
	var nodes corev1.NodeList
	if err := connect(t, s.Kubeconfig).List(t.Context(), &nodes); err != nil {
		t.Fatal(err)
	}
	zones := map[string]bool{}
	for _, node := range nodes.Items {
		zones[node.Labels[corev1.LabelTopologyZone]] = true
	}
	if len(nodes.Items) != 4 || len(zones) != 3 {
		t.Errorf("%d nodes in %d zones: want 4 in 3", len(nodes.Items), len(zones))
	}
}

func (s *server) judgesAccounts(t *testing.T) {
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "default"}}
	request := &authenticationv1.TokenRequest{}
	if err := connect(t, s.Kubeconfig).SubResource("token").Create(t.Context(), account, request); err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.BuildConfigFromFlags("", s.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	config = rest.AnonymousClientConfig(config)
	config.BearerToken = request.Status.Token
	asAccount, err := client.New(config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	err = asAccount.List(t.Context(), &corev1.SecretList{})
	if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "system:serviceaccount:default:default") {
		t.Errorf("listing Secrets by an account without a role: %v, want it forbidden to the account", err)
	}
}

func (s *server) keepsToItsDirectory(t *testing.T) {
	for _, name := range []string{"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kwok"} {
		if len(processes(t, "/"+name+" ", s.Dir)) != 1 {
			t.Errorf("want one %s with its files in %s", name, s.Dir)
		}
	}
}

func TestServe_SideBySide(t *testing.T) {
	t.Parallel()
	one, other := launchServer(t, "--without-controllers"), launchServer(t, "--without-controllers")
	one.awaitReady(t)
	other.awaitReady(t)

	// An object of one is not found in the other.
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "mine"}}
	if err := connect(t, one.Kubeconfig).Create(t.Context(), namespace); err != nil {
		t.Fatal(err)
	}
	if err := connect(t, other.Kubeconfig).Get(t.Context(), client.ObjectKey{Name: "mine"}, namespace); client.IgnoreNotFound(err) != nil || err == nil {
		t.Errorf("looking for the namespace of one cluster in the other: %v, want not found", err)
	}

	one.signal(t, syscall.SIGTERM)
	if status := one.wait(t); status != 0 {
		t.Errorf("exit status %d: want 0", status)
	}
	if err := connect(t, other.Kubeconfig).Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "still-there"}}); err != nil {
		t.Errorf("the end of one cluster has touched the other: %v", err)
	}
}

func TestServe_Endings(t *testing.T) {
	t.Parallel()
	for sentence, test := range map[string]struct {
		args   []string
		end    func(*testing.T, *server)
		status int
		// keptDir: a supervisor killed with SIGKILL cannot remove it.
		keptDir bool
	}{
		"Ctrl-C ends it cleanly": {
			end: func(t *testing.T, s *server) { s.signal(t, syscall.SIGINT) },
		},
		"the end of standard input ends it cleanly when asked for": {
			args: []string{"--until-stdin-closes"},
			end: func(t *testing.T, s *server) {
				if err := s.stdin.Close(); err != nil {
					t.Fatal(err)
				}
			},
		},
		"an etcd that dies ends it with an error": {
			end:    func(t *testing.T, s *server) { kill(t, "/etcd ", s.Dir) },
			status: 1,
		},
		"an API server that dies ends it with an error": {
			end:    func(t *testing.T, s *server) { kill(t, "/kube-apiserver ", s.Dir) },
			status: 1,
		},
		"a supervisor killed with SIGKILL leaves no process": {
			end:     func(t *testing.T, s *server) { s.signal(t, syscall.SIGKILL) },
			status:  -1,
			keptDir: true,
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			s := startServer(t, append(test.args, "--without-controllers")...)
			test.end(t, s)
			if status := s.wait(t); status != test.status {
				t.Errorf("exit status %d: want %d", status, test.status)
			}
			waitFor(t, "no process to be left", func() bool { return len(processes(t, s.Dir)) == 0 })
			if exists(s.Dir) != test.keptDir {
				t.Errorf("the directory is kept: %t, want %t", exists(s.Dir), test.keptDir)
			}
		})
	}
}

func TestServe_RemovesFilesWhenInterrupted(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	s := launchServer(t, "--dir="+dir)
	waitFor(t, "etcd to start", func() bool { return len(processes(t, "/etcd --advertise", dir)) > 0 })
	s.signal(t, syscall.SIGTERM)
	_ = s.cmd.Wait() // its status is checked below
	if status := s.cmd.ProcessState.ExitCode(); status != 1 {
		t.Errorf("exit status %d: want 1, as it never got ready", status)
	}
	// The kernel ends etcd with the supervisor, which need not have waited for it: the start was interrupted.
	wantNothingLeft(t, dir)
}

func TestServe_NamesFailedController(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	s := startServer(t, "--dir="+dir)
	kill(t, "/kube-scheduler ", dir)
	if status := s.wait(t); status != 1 {
		t.Errorf("exit status %d: want 1", status)
	}
	waitFor(t, "no process to be left", func() bool { return len(processes(t, dir)) == 0 })
	if !exists(filepath.Join(dir, logsDir, "kube-scheduler.log")) {
		t.Error("the logs are gone: want them kept in a directory that the user named")
	}
	if exists(s.Kubeconfig) {
		t.Error("the kubeconfig of a cluster that is gone is still there")
	}
}

// kill ends a program of a cluster by force.
func kill(t *testing.T, name, dir string) {
	t.Helper()
	for _, pid := range processes(t, name, dir) {
		if err := exec.CommandContext(t.Context(), "kill", "-KILL", pid).Run(); err != nil {
			t.Fatal(err)
		}
	}
}
