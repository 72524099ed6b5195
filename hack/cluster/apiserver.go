package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// startPatience is how long etcd and the API server may each take to start. A
// machine busy with a build needs more than envtest's 20 seconds.
const startPatience = time.Minute

// abandonPatience is how long an interrupted start may go on.
const abandonPatience = 5 * time.Second

// startAPIServer starts etcd and kube-apiserver, installs the definitions in the
// directory crds, if any, and writes the administrator's kubeconfig.
func (c *cluster) startAPIServer(crds string) error {
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

	c.env = c.environment(etcd, server, crds)
	if err := c.startEnvironment(); err != nil {
		return fmt.Errorf("starting etcd and kube-apiserver: %w\netcd's last words:\n%s\nkube-apiserver's last words:\n%s",
			err, tail(c.log("etcd")), tail(c.log("kube-apiserver")))
	}
	c.config = c.env.Config
	go c.endWith(etcd, "etcd")
	go c.endWith(server, "kube-apiserver")
	return os.WriteFile(c.access().Kubeconfig, c.env.KubeConfig, 0o600)
}

// environment describes the two to envtest.
func (c *cluster) environment(etcd, server *lifeline, crds string) *envtest.Environment {
	env := &envtest.Environment{
		// USE_EXISTING_CLUSTER in the user's environment is not meant for us.
		UseExistingCluster:      new(false),
		BinaryAssetsDirectory:   c.programs.bin,
		ControlPlaneStopTimeout: stopPatience,
	}
	if crds != "" {
		env.CRDDirectoryPaths = []string{crds}
		env.ErrorIfCRDPathMissing = true
	}
	if os.Getenv("KUBEBUILDER_CONTROLPLANE_START_TIMEOUT") == "" {
		env.ControlPlaneStartTimeout = startPatience
	}
	env.ControlPlane.Etcd = &envtest.Etcd{Out: etcd.writer, Err: etcd.writer}
	// Nothing here outlives a power cut, and syncing is what etcd is slow at.
	env.ControlPlane.Etcd.Configure().Set("unsafe-no-fsync", "true")

	api := env.ControlPlane.GetAPIServer()
	api.Out, api.Err = server.writer, server.writer
	flags := api.Configure().
		Set("authorization-mode", "RBAC").
		Set("enable-admission-plugins", "OwnerReferencesPermissionEnforcement").
		// envtest's range has room for 254 Services.
		Set("service-cluster-ip-range", "10.96.0.0/16").
		// Without these the server wants a network interface besides loopback.
		Set("advertise-address", "127.0.0.1").
		Set("endpoint-reconciler-type", "none")
	if c.programs.controllers {
		// envtest turns off the ServiceAccount plug-in, because nothing would
		// make the default account; here the controller manager does.
		flags.Disable("disable-admission-plugins")
	}
	return env
}

// startEnvironment starts envtest, but does not stay with a start that hangs
// when the user has given up on it: the children end with this process.
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

// endWith ends the cluster when the process at the other end of the lifeline
// ends.
func (c *cluster) endWith(l *lifeline, name string) {
	<-l.ended
	c.end(deathOf(name, c.log(name), errOutputEnded))
}

// log returns the path of a program's log.
func (c *cluster) log(name string) string {
	return c.dir.in(logsDir, name+".log")
}
