// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package helm

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/example/memcached-operator/test/e2e/cluster"
	"github.com/example/memcached-operator/test/testenv"
)

// suite is what the tests share.
var suite struct {
	*cluster.Cluster
	// define makes the CustomResourceDefinition, once.
	define sync.Once
}

func TestMain(m *testing.M) {
	log.SetLogger(logr.Discard())
	klog.SetLogger(logr.Discard()) // connections that are refused, as they are to be, end forwarded ports
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (code int, err error) {
	ctx := context.Background()
	if suite.Cluster, err = cluster.Connect(); err != nil {
		return 1, err
	}
	if suite.Image == "" {
		return 1, errors.New("E2E_IMAGE is not set: it names the image of the operator that the chart is to install")
	}
	for _, name := range helms {
		if _, err := os.Stat(program(name)); err != nil {
			return 1, fmt.Errorf("the tests need bin/%s: run them by `make e2e`: %w", name, err)
		}
	}
	switch left, err := leftovers(ctx); {
	case err != nil:
		return 1, err
	case len(left) > 0:
		return 1, fmt.Errorf("the tests want a cluster without an operator; this one has %s", strings.Join(left, ", "))
	}
	undefine, err := suite.DefineMonitoring(ctx)
	if err != nil {
		return 1, err
	}
	code = m.Run()
	return code, errors.Join(tidy(ctx), undefine(ctx))
}

// tidy removes the CustomResourceDefinition and waits until nothing of the tests is left.
func tidy(ctx context.Context) error {
	if err := client.IgnoreNotFound(suite.Delete(ctx, testenv.Definition())); err != nil {
		return err
	}
	var left []string
	err := wait.PollUntilContextTimeout(ctx, time.Second, cluster.Patience, true, func(ctx context.Context) (done bool, err error) {
		left, err = leftovers(ctx)
		return len(left) == 0 && err == nil, nil
	})
	if err != nil {
		return fmt.Errorf("the tests leave %s: %w", strings.Join(left, ", "), err)
	}
	return nil
}

// leftovers are the cluster-wide objects that tests or operators have made.
func leftovers(ctx context.Context) ([]string, error) {
	ours := func(object client.Object) bool {
		name := object.GetName()
		return strings.HasPrefix(name, "memcached-operator") || strings.HasSuffix(name, ".cache.example.com") || object.GetLabels()["memcached-operator-e2e"] != ""
	}
	definitions := &unstructured.UnstructuredList{}
	definitions.SetGroupVersionKind(testenv.Definition().GroupVersionKind())
	var left []string
	for _, list := range []client.ObjectList{
		definitions, &corev1.NamespaceList{}, &rbacv1.ClusterRoleList{}, &rbacv1.ClusterRoleBindingList{},
		&admissionregistrationv1.ValidatingAdmissionPolicyList{}, &admissionregistrationv1.ValidatingAdmissionPolicyBindingList{},
	} {
		if err := suite.List(ctx, list); err != nil {
			return nil, fmt.Errorf("asking the cluster of E2E_KUBECONFIG: %w", err)
		}
		err := meta.EachListItem(list, func(item apiruntime.Object) error {
			if object := item.(client.Object); ours(object) {
				left = append(left, fmt.Sprintf("%T %s", object, object.GetName()))
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return left, nil
}

// define makes the CustomResourceDefinition, as a cluster's administrator does for
// releases that may not.
func define(t *testing.T) {
	t.Helper()
	suite.define.Do(func() {
		suite.Kubectl(t, "apply", "--server-side", "-f", filepath.Join("config", "crd", "bases"))
		suite.Kubectl(t, "wait", "--for=condition=Established", "--timeout=60s", "customresourcedefinition/"+testenv.DefinitionName)
	})
}
