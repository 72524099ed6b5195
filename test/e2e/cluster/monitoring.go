// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package cluster

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

//go:embed monitoring.yaml
var monitoring []byte

// DefineMonitoring makes those of the Prometheus operator's kinds that the cluster does not know, and waits
// until they are served. Call it before an operator starts, which else finds them minutes later. The function
// that it returns takes away what it made.
func (c *Cluster) DefineMonitoring(ctx context.Context) (undo func(context.Context) error, err error) {
	var made []client.Object
	undo = func(ctx context.Context) error {
		var all []error
		for _, definition := range made {
			all = append(all, client.IgnoreNotFound(c.Delete(ctx, definition)))
		}
		return errors.Join(all...)
	}
	definitions := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(monitoring), 4096)
	for {
		definition := &unstructured.Unstructured{}
		if err := definitions.Decode(definition); errors.Is(err, io.EOF) {
			return undo, nil
		} else if err != nil {
			return undo, err
		}
		switch err := c.Create(ctx, definition); {
		case err == nil:
			made = append(made, definition)
		case !apierrors.IsAlreadyExists(err):
			return undo, fmt.Errorf("making the Prometheus operator's kinds: %w", err)
		}
		if _, err := c.kubectl(ctx, "", "wait", "--for=condition=Established", "--timeout=60s", "customresourcedefinition/"+definition.GetName()); err != nil {
			return undo, err
		}
		// Some time after that the API server says that it serves them: an operator that starts
		// meanwhile does without them for five minutes.
		plural, group, _ := strings.Cut(definition.GetName(), ".")
		resource := schema.GroupVersionResource{Group: group, Version: "v1", Resource: plural}
		if err := wait.PollUntilContextTimeout(ctx, interval, Patience, true, func(context.Context) (bool, error) {
			return discovery.IsResourceEnabled(c.Clients.Discovery(), resource)
		}); err != nil {
			return undo, fmt.Errorf("waiting until the API server lists %s: %w", resource, err)
		}
	}
}

// monitoringObject is an object of one of the Prometheus operator's kinds, with nothing but its name.
func monitoringObject(kind, namespace, name string) *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	object.SetAPIVersion("monitoring.coreos.com/v1")
	object.SetKind(kind)
	object.SetNamespace(namespace)
	object.SetName(name)
	return object
}
