// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package olm

import (
	"context"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/test/testenv"
)

// privileged is a spec that would become Stalled, by refusal: an operator of a bundle disables privileged fields.
const (
	privileged = "{priorityClassName: high}"
	refusal    = "this operator runs without --allow-privileged-fields and accepts none of these: spec.priorityClassName"
)

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
	testenv.NoError(t, suite.Client.List(ctx, list, client.MatchingLabels{"olm.owner.namespace": i.Namespace}))
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
