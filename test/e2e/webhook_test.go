// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"encoding/base64"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/example/memcached-operator/test/certificate"
	"github.com/example/memcached-operator/test/controlplane"
	"github.com/example/memcached-operator/test/e2e/cluster"
	"github.com/example/memcached-operator/test/testenv"
)

// TestWebhook_IsTurnedOnAndOff deploys the operator with the component config/webhook and without it again. It is not
// parallel, since it restarts the operator of the other tests.
func TestWebhook_IsTurnedOnAndOff(t *testing.T) {
	const service, name = "memcached-operator-webhook-service", "memcached-operator-webhook-server-cert"
	const configuration = "memcached-operator-validating-webhook-configuration"
	// It would become Stalled.
	const unknownField, refusal = `{size: 0, patches: [{target: {kind: Deployment}, patch: "{spec: {template: {spec: {nodeNames: a}}}}"}]}`, "spec.template.spec.nodeNames: unknown field"
	// Forced, since other tests have changed the operator's arguments.
	apply := []string{"apply", "--server-side", "--force-conflicts", "-f", "-"}
	namespace, own := suite.NewNamespace(t), suite.operator.Namespace
	mc := suite.Ready(t, suite.NewMemcached(t, namespace, "cache", 2))
	newSecret := func() (secret *corev1.Secret) {
		pair := certificate.New(t, service+"."+own+".svc")
		secret = &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: own, Name: name}, Type: corev1.SecretTypeTLS, Data: certificateData(pair)}
		suite.Create(t, secret)
		return secret
	}
	trust := func(op string, secret *corev1.Secret) {
		suite.Kubectl(t, "patch", "validatingwebhookconfiguration", configuration, "--type=json",
			`--patch=[{"op":"`+op+`","path":"/webhooks/0/clientConfig/caBundle","value":"`+base64.StdEncoding.EncodeToString(secret.Data[corev1.TLSCertKey])+`"}]`)
		suite.WantReviewed(t, namespace, unknownField, refusal)
	}
	secret := newSecret()
	defer func() { // not a cleanup, in which t.Context() is done
		suite.KubectlInput(t, installerOf(t, "WEBHOOK="), apply...)
		for _, object := range []string{"secret/" + name, "service/" + service, "validatingwebhookconfiguration/" + configuration} {
			suite.Kubectl(t, "delete", "--namespace="+own, object)
		}
		suite.operator.Settled(t)
		suite.operator.Leader(t)
	}()
	suite.KubectlInput(t, withoutCertManager(installerOf(t, "WEBHOOK=true")), apply...)
	suite.operator.Settled(t)
	suite.operator.Leader(t)
	trust("add", secret)

	// A renewed certificate is used without a restart.
	before := cluster.Names(suite.operator.Settled(t))
	suite.Delete(t, secret)
	trust("replace", newSecret())
	if after := cluster.Names(suite.operator.Settled(t)); !slices.Equal(after, before) {
		t.Errorf("the operator's pods were %v and are %v", before, after)
	}
	suite.Ready(t, mc)
}

// installerOf returns the objects of `make deploy` with an environment variable.
func installerOf(t *testing.T, variable string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), "hack/installer.sh", suite.Image)
	command.Dir, command.Env, command.Stderr = controlplane.Root(), append(os.Environ(), variable), os.Stderr
	output, err := command.Output()
	testenv.NoError(t, err)
	return string(output)
}

// withoutCertManager removes the objects of cert-manager, which these nodes do not have.
func withoutCertManager(objects string) string {
	var kept []string
	for object := range strings.SplitSeq(objects, "\n---\n") {
		if !strings.Contains(object, "apiVersion: cert-manager.io/v1\n") {
			kept = append(kept, object)
		}
	}
	return strings.Join(kept, "\n---\n")
}
