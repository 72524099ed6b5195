package main

import (
	_ "embed"
	"fmt"
	"os"
	"os/exec"

	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// kwokConfig is the configuration of kwok: the nodes that it manages and their stages.
//
//go:embed kwok.yaml
var kwokConfig []byte

// A controller is a program that works beside the API server, as a user of it.
type controller struct {
	name string
	user envtest.User
	args []string
}

// controllers lists them in the order of their start.
func (c *cluster) controllers() []controller {
	certificates := c.env.ControlPlane.GetAPIServer().CertDir
	return []controller{
		{
			name: "kube-controller-manager",
			user: envtest.User{Name: "system:kube-controller-manager"},
			args: append(serverFlags(),
				"--use-service-account-credentials",
				"--service-account-private-key-file="+certificates+"/sa-signer.key",
				"--root-ca-file="+c.dir.in("ca.crt"),
			),
		},
		{
			name: "kube-scheduler",
			user: envtest.User{Name: "system:kube-scheduler"},
			args: serverFlags(),
		},
		{
			name: "kwok",
			user: envtest.User{Name: "kwok", Groups: []string{"system:masters"}},
			args: []string{"--config=" + c.dir.in("kwok.yaml")},
		},
	}
}

// serverFlags returns the flags of the controller manager and the scheduler: no
// endpoints, no leader election, and a higher rate limit than the default of 20 requests
// per second.
func serverFlags() []string {
	return []string{
		"--secure-port=0",
		"--leader-elect=false",
		"--kube-api-qps=1000",
		"--kube-api-burst=2000",
	}
}

// startControllers starts all of them, each with a kubeconfig of its own.
func (c *cluster) startControllers() error {
	if err := os.WriteFile(c.dir.in("ca.crt"), c.config.CAData, 0o600); err != nil {
		return fmt.Errorf("writing the certificate authority: %w", err)
	}
	if err := os.WriteFile(c.dir.in("kwok.yaml"), kwokConfig, 0o600); err != nil {
		return fmt.Errorf("writing kwok's configuration: %w", err)
	}
	for _, program := range c.controllers() {
		if err := c.startController(program); err != nil {
			return err
		}
	}
	return nil
}

func (c *cluster) startController(program controller) error {
	user, err := c.env.AddUser(program.user, nil)
	if err != nil {
		return fmt.Errorf("adding the user of %s: %w", program.name, err)
	}
	kubeconfig, err := user.KubeConfig()
	if err != nil {
		return fmt.Errorf("making the kubeconfig of %s: %w", program.name, err)
	}
	path := c.dir.in(program.name + ".kubeconfig")
	if err := os.WriteFile(path, kubeconfig, 0o600); err != nil {
		return fmt.Errorf("writing the kubeconfig of %s: %w", program.name, err)
	}
	cmd := exec.Command(c.programs.path(program.name), append(program.args, "--kubeconfig="+path)...)
	// Ignore ~/.kwok of the user.
	cmd.Env = append(os.Environ(), "KWOK_WORKDIR="+c.dir.in("kwok"))
	child, err := startChild(cmd, program.name, c.log(program.name), c.end)
	if err != nil {
		return err
	}
	c.children = append(c.children, child)
	return nil
}
