// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package olm

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/test/e2e/cluster"
)

// privileged is a Memcached that would become Stalled, since an operator of a bundle disables privileged fields.
const privileged = `
apiVersion: cache.example.com/v1alpha1
kind: Memcached
metadata: {namespace: %s, name: privileged}
spec: {priorityClassName: high}
`

// rejection is what kubectl prints for it: the webhook's name, and the message that Stalled would have.
var rejection = []string{
	`admission webhook "memcacheds.cache.example.com" denied the request: `,
	"this operator runs without --allow-privileged-fields and accepts none of these: spec.priorityClassName",
}

// wantReviewed fails unless the webhook reviews the Memcacheds of a namespace, which has a ready one called cache: it rejects
// one that would become Stalled and warns of an edit that replaces pods.
func wantReviewed(t *testing.T, namespace string) {
	t.Helper()
	manifest := fmt.Sprintf(privileged, namespace)
	// The API server starts to use a new webhook with a delay. Until then nothing may be stored, so this is a dry-run.
	cluster.Eventually(t, "a Memcached in "+namespace+" is reviewed", func(ctx context.Context) (bool, string, error) {
		printed, err := printedBy(ctx, manifest, "apply", "--dry-run=server", "-f", "-")
		return err != nil && cluster.ContainsAll(printed, rejection), printed, nil
	})
	if printed, err := printedBy(t.Context(), manifest, "apply", "-f", "-"); err == nil || !cluster.ContainsAll(printed, rejection) {
		t.Errorf("kubectl apply in %s: %v, it prints %q, want %q", namespace, err, printed, rejection)
	}
	const warning = "cached data is lost"
	for edit, warned := range map[string]bool{
		`{"spec":{"verbosity":1}}`:                              true,
		`{"metadata":{"annotations":{"example.com/note":"x"}}}`: false,
	} {
		printed, err := printedBy(t.Context(), "", "--namespace="+namespace, "patch", "memcached/cache", "--dry-run=server", "--type=merge", "--patch="+edit)
		if err != nil || strings.Contains(printed, warning) != warned {
			t.Errorf("kubectl patch %s in %s: %v, it prints %q, want the warning %q: %v", edit, namespace, err, printed, warning, warned)
		}
	}
}

// wantNotReviewed fails if the webhook reviews the Memcacheds of a namespace. Call it after wantReviewed, when the API server uses
// the webhook.
func wantNotReviewed(t *testing.T, namespace string) {
	t.Helper()
	if printed, err := printedBy(t.Context(), fmt.Sprintf(privileged, namespace), "apply", "--dry-run=server", "-f", "-"); err != nil {
		t.Errorf("no OperatorGroup has the namespace %s, and a Memcached in it is rejected: %v: %s", namespace, err, printed)
	}
}

// webhook returns the only webhook that OLM created for the install.
func (i install) webhook(t *testing.T) admissionregistrationv1.ValidatingWebhook {
	t.Helper()
	found := i.webhooks(t.Context(), t)
	if len(found) != 1 || len(found[0].Webhooks) != 1 {
		t.Fatalf("OLM made %d ValidatingWebhookConfigurations, want one with one webhook: %+v", len(found), found)
	}
	return found[0].Webhooks[0]
}

// webhooks returns the ValidatingWebhookConfigurations that OLM created for the install.
func (i install) webhooks(ctx context.Context, t *testing.T) []admissionregistrationv1.ValidatingWebhookConfiguration {
	t.Helper()
	list := &admissionregistrationv1.ValidatingWebhookConfigurationList{}
	cluster.Must(t, suite.List(ctx, list, client.MatchingLabels{"olm.owner.namespace": i.Namespace}))
	return list.Items
}

// wantNonBlocking fails unless writes of Memcacheds do not depend on the webhook, whatever OLM adds to it.
func wantNonBlocking(t *testing.T, w admissionregistrationv1.ValidatingWebhook) {
	t.Helper()
	switch {
	case w.FailurePolicy == nil || *w.FailurePolicy != admissionregistrationv1.Ignore:
		t.Errorf("failurePolicy is %v, want Ignore", w.FailurePolicy)
	case w.TimeoutSeconds == nil || *w.TimeoutSeconds != 2:
		t.Errorf("timeoutSeconds is %v, want 2", w.TimeoutSeconds)
	case w.SideEffects == nil || *w.SideEffects != admissionregistrationv1.SideEffectClassNone:
		t.Errorf("sideEffects is %v, want None", w.SideEffects)
	}
}

// printedBy runs kubectl with a manifest on standard input and returns all that it prints, warnings included.
func printedBy(ctx context.Context, manifest string, arguments ...string) (string, error) {
	command := exec.CommandContext(ctx, "kubectl", arguments...)
	command.Env = append(os.Environ(), "KUBECONFIG="+suite.Kubeconfig)
	command.Stdin = strings.NewReader(manifest)
	printed, err := command.CombinedOutput()
	return string(printed), err
}
