package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"slices"
	"time"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// parentPIDVariable ties the life of the programs in ./kube to this process:
// multicall/parent.go reads it.
const parentPIDVariable = "CLUSTER_PARENT_PID"

// stopPatience is the timeout for a graceful stop. An API server with open watches takes
// up to a minute, and no data needs to be kept.
const stopPatience = 2 * time.Second

// A cluster is a running control plane.
type cluster struct {
	dir      *workDir
	programs programs

	env      *envtest.Environment
	config   *rest.Config // of the administrator
	children []*child     // in the order of their start

	// alive ends when the cluster does, or has to: its cause says why.
	alive context.Context
	end   context.CancelCauseFunc
}

// access is the output that others need to use a cluster.
type access struct {
	Kubeconfig string `json:"kubeconfig"`
	Dir        string `json:"dir"`
}

// startCluster starts everything and returns once it is ready to use, or stops
// what it started and returns an error. The caller stops the cluster.
func startCluster(ctx context.Context, dir *workDir, programs programs, o options) (_ *cluster, err error) {
	c := &cluster{dir: dir, programs: programs}
	c.alive, c.end = context.WithCancelCause(ctx)
	defer func() {
		if err != nil {
			// The cause of the end of a program is more useful than the resulting errors.
			if cause := context.Cause(c.alive); cause != nil {
				err = cause
			}
			c.stop()
		}
	}()

	// envtest's own files and those of its children.
	if err := errors.Join(
		os.Setenv("TMPDIR", dir.in(tempDir)),
		os.Setenv(parentPIDVariable, fmt.Sprint(os.Getpid())),
	); err != nil {
		return nil, err
	}
	start := time.Now()
	if err := c.startAPIServer(o); err != nil {
		return nil, err
	}
	log.Printf("etcd and kube-apiserver are up (%.1f s)", time.Since(start).Seconds())
	if !o.withoutControllers {
		if err := c.startControllers(); err != nil {
			return nil, err
		}
		if err := c.addNodes(o.nodes); err != nil {
			return nil, err
		}
		if err := c.waitReady(o.nodes); err != nil {
			return nil, err
		}
		log.Printf("controllers and %d simulated node(s) are ready (%.1f s)", o.nodes, time.Since(start).Seconds())
	}
	if err := dir.announce(c.access()); err != nil {
		return nil, fmt.Errorf("announcing the cluster: %w", err)
	}
	return c, nil
}

func (c *cluster) access() access {
	return access{Kubeconfig: c.dir.in("kubeconfig"), Dir: c.dir.path}
}

// failure returns the error with which the cluster ended, or nil if it is running or was
// stopped through the context.
func (c *cluster) failure(told context.Context) error {
	if told.Err() == nil {
		return context.Cause(c.alive)
	}
	return nil
}

// stop ends all processes: first the controllers, then the API server, then etcd.
func (c *cluster) stop() {
	c.end(nil) // from here on, the end of a child is expected
	for _, child := range slices.Backward(c.children) {
		child.terminate()
	}
	deadline := time.Now().Add(stopPatience)
	for _, child := range slices.Backward(c.children) {
		child.stop(deadline)
	}
	if c.env == nil {
		return
	}
	// The error only reports that an API server with open watches was killed, which is
	// usual.
	_ = c.env.Stop()
}
