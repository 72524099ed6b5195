// SPDX-License-Identifier: Apache-2.0

package config

import (
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/yaml"

	"github.com/example/memcached-operator/test/controlplane"
	"github.com/example/memcached-operator/test/testenv"
)

// clusterServiceVersion has the fields of one that the webhook needs.
type clusterServiceVersion struct {
	Spec struct {
		WebhookDefinitions        []webhookDefinition
		APIServiceDefinitions     struct{ Owned, Required []any }
		CustomResourceDefinitions struct{ Required []any }
		InstallModes              []struct{ Supported bool }
		Install                   struct {
			Spec struct {
				Deployments []struct {
					Name string
					Spec appsv1.DeploymentSpec
				}
			}
		}
	}
}

type webhookDefinition struct {
	Type, GenerateName, DeploymentName, WebhookPath string
	ContainerPort, TimeoutSeconds                   int32
	TargetPort                                      intstr.IntOrString
	Rules                                           []admissionregistrationv1.RuleWithOperations
	FailurePolicy                                   admissionregistrationv1.FailurePolicyType
	SideEffects                                     admissionregistrationv1.SideEffectClass
	AdmissionReviewVersions                         []string
}

var bundle = filepath.Join(controlplane.Root(), "bundle")

func readBundle(t *testing.T) (csv clusterServiceVersion) {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(bundle, "manifests", "memcached-operator.clusterserviceversion.yaml"))
	testenv.NoError(t, err)
	testenv.NoError(t, yaml.Unmarshal(content, &csv))
	return csv
}

// TestBundle_SuitsOLMv1: operator-controller of OLM v1 installs no bundle with other kinds, aggregated APIs, dependencies, or
// webhooks other than validating ones beside these install modes.
func TestBundle_SuitsOLMv1(t *testing.T) {
	t.Parallel()
	csv := readBundle(t)
	if a, c := csv.Spec.APIServiceDefinitions, csv.Spec.CustomResourceDefinitions; len(a.Owned)+len(a.Required)+len(c.Required) > 0 || len(csv.Spec.InstallModes) != 4 {
		t.Errorf("the bundle has aggregated APIs %v, required definitions %v, install modes %v", a, c, csv.Spec.InstallModes)
	}
	files, err := filepath.Glob(filepath.Join(bundle, "manifests", "*.yaml"))
	testenv.NoError(t, err)
	kinds := map[string]bool{}
	for _, file := range files {
		content, err := os.ReadFile(file)
		testenv.NoError(t, err)
		kinds[testenv.Parse(t, string(content)).GetKind()] = true
	}
	if got, want := slices.Sorted(maps.Keys(kinds)), []string{"ClusterRole", "ClusterServiceVersion", "CustomResourceDefinition", "Service"}; !slices.Equal(got, want) {
		t.Errorf("the bundle has the kinds %q, want %q", got, want)
	}
	if others, err := filepath.Glob(filepath.Join(bundle, "metadata", "*")); err != nil || len(others) != 1 {
		t.Errorf("the bundle's metadata is %q (%v), want annotations.yaml: dependencies and properties may have constraints", others, err)
	}
}

// TestBundle_ServesTheWebhook: the webhook of OLM is that of config/webhook, on a port that the Deployment serves.
func TestBundle_ServesTheWebhook(t *testing.T) {
	t.Parallel()
	csv := readBundle(t)
	if len(csv.Spec.WebhookDefinitions) != 1 || len(csv.Spec.Install.Spec.Deployments) != 1 {
		t.Fatalf("the bundle has %d webhooks and %d Deployments, want one each", len(csv.Spec.WebhookDefinitions), len(csv.Spec.Install.Spec.Deployments))
	}
	definition, deployment := csv.Spec.WebhookDefinitions[0], csv.Spec.Install.Spec.Deployments[0]

	want := all[*admissionregistrationv1.ValidatingWebhookConfiguration](build(t, "manifests"))[0].Webhooks[0]
	if wanted := (webhookDefinition{
		Type: "ValidatingAdmissionWebhook", GenerateName: want.Name, DeploymentName: deployment.Name, WebhookPath: *want.ClientConfig.Service.Path,
		ContainerPort: 443, TargetPort: definition.TargetPort, TimeoutSeconds: 2,
		Rules: want.Rules, FailurePolicy: admissionregistrationv1.Ignore, SideEffects: admissionregistrationv1.SideEffectClassNone,
		AdmissionReviewVersions: []string{"v1"},
	}); !reflect.DeepEqual(definition, wanted) {
		t.Errorf("the webhook is\n%+v, want\n%+v", definition, wanted)
	}
	pod := deployment.Spec.Template.Spec
	wantPort(t, deployment.Spec.Template, definition.TargetPort.String())
	if len(pod.Volumes) > 0 || len(pod.Containers[0].VolumeMounts) > 0 {
		t.Errorf("the Deployment has volumes %+v, and OLM mounts the certificate", pod.Volumes)
	}
	if services, err := filepath.Glob(filepath.Join(bundle, "manifests", "*webhook-service*")); err != nil || len(services) > 0 {
		t.Errorf("the bundle has %q (%v), and OLM creates the webhook's Service", services, err)
	}
	for _, mode := range csv.Spec.InstallModes {
		if !mode.Supported {
			t.Errorf("the install modes are %+v, want all supported", csv.Spec.InstallModes)
		}
	}
}

// TestBundle_NeedsNoCertManager: OLM issues the certificate, and config/manifests leaves out cert-manager's objects.
func TestBundle_NeedsNoCertManager(t *testing.T) {
	t.Parallel()
	for _, object := range build(t, "manifests").other {
		if object.GroupVersionKind().Group == "cert-manager.io" {
			t.Errorf("there is a %s %s", object.GetKind(), object.GetName())
		}
	}
}
