package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strconv"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// startPatience is the timeout for the start of etcd and of the API server. A machine
// that runs a build needs more than the 20 seconds of envtest.
const startPatience = time.Minute

// abandonPatience is the timeout for an interrupted start.
const abandonPatience = 5 * time.Second

// startAPIServer starts etcd and kube-apiserver, installs the definitions in the
// directory of o, if any, and writes the administrator's kubeconfig.
func (c *cluster) startAPIServer(o options) error {
	etcd, err := newLifeline(c.log("etcd"))
	if err != nil {
		return err
	}
	defer etcd.release()
	server, err := newLifeline(c.log("kube-apiserver"))
	if err != nil {
		return err
	}
	defer server.release()

	if c.env, err = c.environment(etcd, server, o); err != nil {
		return err
	}
	if err := c.startEnvironment(); err != nil {
		return fmt.Errorf("starting etcd and kube-apiserver: %w\nend of the log of etcd:\n%s\nend of the log of kube-apiserver:\n%s",
			err, tail(c.log("etcd")), tail(c.log("kube-apiserver")))
	}
	c.config = c.env.Config
	go c.endWith(etcd, "etcd")
	go c.endWith(server, "kube-apiserver")
	return os.WriteFile(c.access().Kubeconfig, c.env.KubeConfig, 0o600)
}

// environment returns the configuration of envtest.
func (c *cluster) environment(etcd, server *lifeline, o options) (*envtest.Environment, error) {
	env := &envtest.Environment{
		// Ignore USE_EXISTING_CLUSTER in the environment.
		UseExistingCluster:      new(false),
		BinaryAssetsDirectory:   c.programs.bin,
		ControlPlaneStopTimeout: stopPatience,
	}
	if o.crds != "" {
		env.CRDDirectoryPaths = []string{o.crds}
		env.ErrorIfCRDPathMissing = true
	}
	if os.Getenv("KUBEBUILDER_CONTROLPLANE_START_TIMEOUT") == "" {
		env.ControlPlaneStartTimeout = startPatience
	}
	ports, err := freePorts(c.alive, 3)
	if err != nil {
		return nil, err
	}
	env.ControlPlane.Etcd = &envtest.Etcd{
		URL: &url.URL{Scheme: "http", Host: net.JoinHostPort(loopback, ports[0])},
		Out: etcd.writer, Err: etcd.writer,
	}
	// The data need not survive a power failure, and fsync is slow.
	env.ControlPlane.Etcd.Configure().
		Set("unsafe-no-fsync", "true").
		Set("listen-peer-urls", "http://"+net.JoinHostPort(loopback, ports[2]))

	api := env.ControlPlane.GetAPIServer()
	api.SecureServing.Address, api.SecureServing.Port = loopback, ports[1]
	api.Out, api.Err = server.writer, server.writer
	flags := api.Configure().
		Set("authorization-mode", "RBAC").
		Set("enable-admission-plugins", "OwnerReferencesPermissionEnforcement").
		// The default range of envtest has 254 addresses.
		Set("service-cluster-ip-range", "10.96.0.0/16").
		// By default, the server needs a network interface other than loopback.
		Set("advertise-address", "127.0.0.1").
		Set("endpoint-reconciler-type", "none")
	if o.featureGates != "" {
		flags.Set("feature-gates", o.featureGates)
	}
	if c.programs.controllers {
		// envtest disables the ServiceAccount plug-in, because no controller creates
		// the default account; here the controller manager does.
		flags.Disable("disable-admission-plugins")
	}
	return env, nil
}

const (
	loopback = "127.0.0.1"
	// firstPort and lastPort are below 32768, from which the kernel by default takes the ports
	// of outgoing connections. Otherwise a connection could take the port of a server while that
	// is restarted.
	firstPort, lastPort = 10000, 32767
)

// freePorts returns n ports of the loopback interface on which nothing listens. Clusters
// that start at the same moment get different ones, since the search begins at a port that
// depends on the ID of this process.
func freePorts(ctx context.Context, n int) ([]string, error) {
	const count = lastPort - firstPort + 1
	var ports []string
	for i := range count {
		port := strconv.Itoa(firstPort + (os.Getpid()*n+i)%count)
		listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort(loopback, port))
		if err != nil {
			continue
		}
		if err := listener.Close(); err != nil {
			return nil, err
		}
		if ports = append(ports, port); len(ports) == n {
			return ports, nil
		}
	}
	return nil, fmt.Errorf("no free port of %s from %d to %d", loopback, firstPort, lastPort)
}

// startEnvironment starts envtest. When the context is cancelled, it returns even if the
// start hangs; the children end with this process.
func (c *cluster) startEnvironment() error {
	var err error
	started := make(chan struct{})
	go func() {
		_, err = c.env.Start()
		close(started)
	}()
	select {
	case <-started:
		return errors.Join(err, context.Cause(c.alive))
	case <-c.alive.Done():
	}
	select {
	case <-started:
	case <-time.After(abandonPatience):
		c.env = nil // still in use by the goroutine, so not ours to stop
	}
	return context.Cause(c.alive)
}

// endWith ends the cluster when the process that writes to the lifeline ends.
func (c *cluster) endWith(l *lifeline, name string) {
	<-l.ended
	c.end(deathOf(name, c.log(name), errOutputEnded))
}

// log returns the path of a program's log.
func (c *cluster) log(name string) string {
	return c.dir.in(logsDir, name+".log")
}
