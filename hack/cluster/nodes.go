package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// zones is how many the nodes are dealt out to, so that spreading over
	// zones has something to do.
	zones = 3
	// readyPatience is how long the controllers may take to make the cluster
	// usable; it takes 3 seconds on two idle cores.
	readyPatience = 2 * time.Minute
)

// addNodes makes simulated Nodes. What they can hold is left to kwok's default
// (1000 CPUs, 1 TiB, a million pods), which is as good as no limit.
func (c *cluster) addNodes(count int) error {
	api, err := client.New(c.config, client.Options{})
	if err != nil {
		return fmt.Errorf("making a client: %w", err)
	}
	for i := range count {
		if err := api.Create(c.alive, simulatedNode(i)); err != nil {
			return fmt.Errorf("creating a simulated node: %w", err)
		}
	}
	return nil
}

func simulatedNode(index int) *corev1.Node {
	name := fmt.Sprintf("node-%d", index+1)
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{
		Name:        name,
		Annotations: map[string]string{"kwok.x-k8s.io/node": "fake"}, // as kwok.yaml wants,
		Labels: map[string]string{
			corev1.LabelHostname:       name,
			corev1.LabelOSStable:       "linux",
			corev1.LabelArchStable:     "amd64",
			corev1.LabelTopologyRegion: "local",
			corev1.LabelTopologyZone:   fmt.Sprintf("zone-%d", index%zones+1),
		},
	}}
}

// waitReady returns once a user can expect everything to work: pods can be
// created, which takes their service account, and are scheduled, which takes
// nodes that are ready and no longer tainted.
func (c *cluster) waitReady(nodes int) error {
	api, err := client.New(c.config, client.Options{})
	if err != nil {
		return fmt.Errorf("making a client: %w", err)
	}
	var lacking error
	ready := poll(readyPatience, func() bool {
		lacking = notReady(c.alive, api, nodes)
		return lacking == nil || c.alive.Err() != nil
	})
	if err := context.Cause(c.alive); err != nil {
		return err
	}
	if !ready {
		return fmt.Errorf("the control plane is not ready after %s, see its logs in %s: %w", readyPatience, c.dir.in(logsDir), lacking)
	}
	return nil
}

// notReady returns what the cluster still lacks.
func notReady(ctx context.Context, api client.Client, nodes int) error {
	var account corev1.ServiceAccount
	if err := api.Get(ctx, client.ObjectKey{Namespace: metav1.NamespaceDefault, Name: "default"}, &account); err != nil {
		return err
	}
	var root corev1.ConfigMap // mounted into every pod that uses its account
	if err := api.Get(ctx, client.ObjectKey{Namespace: metav1.NamespaceDefault, Name: "kube-root-ca.crt"}, &root); err != nil {
		return err
	}
	var list corev1.NodeList
	if err := api.List(ctx, &list); err != nil {
		return err
	}
	schedulable := slices.DeleteFunc(list.Items, func(n corev1.Node) bool {
		return len(n.Spec.Taints) > 0 || !slices.ContainsFunc(n.Status.Conditions, isReady)
	})
	if len(schedulable) < nodes {
		return fmt.Errorf("%d of %d nodes are ready", len(schedulable), nodes)
	}
	return nil
}

func isReady(condition corev1.NodeCondition) bool {
	return condition.Type == corev1.NodeReady && condition.Status == corev1.ConditionTrue
}
