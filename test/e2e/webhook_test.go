// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"encoding/base64"
	"os"
	"os/exec"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/example/memcached-operator/test/e2e/cluster"
)

// TestWebhook_IsTurnedOnAndOff deploys the operator with the component config/webhook and without it again. It is not
// parallel, since it restarts the operator of the other tests.
func TestWebhook_IsTurnedOnAndOff(t *testing.T) {
	const service, secret = "memcached-operator-webhook-service", "memcached-operator-webhook-server-cert"
	const unknownField = "spec.template.spec.nodeNames: unknown field"
	const configuration = "memcached-operator-validating-webhook-configuration"
	// Forced, since other tests have changed the operator's arguments.
	apply := []string{"apply", "--server-side", "--force-conflicts", "-f", "-"}
	namespace, own := suite.NewNamespace(t), suite.operator.Namespace
	mc := suite.Ready(t, suite.NewMemcached(t, namespace, "cache", 2))
	authority := suite.WebhookSecret(t, own, secret, service)
	defer func() { // not a cleanup, in which t.Context() is done
		suite.KubectlInput(t, installerOf(t, "WEBHOOK="), apply...)
		for _, object := range []string{"secret/" + secret, "service/" + service, "validatingwebhookconfiguration/" + configuration} {
			suite.Kubectl(t, "delete", "--namespace="+own, object)
		}
		suite.operator.Settled(t)
		suite.operator.Leader(t)
	}()
	objects := withoutCertManager(installerOf(t, "WEBHOOK=true"))
	suite.KubectlInput(t, objects, apply...)
	suite.operator.Settled(t)
	suite.operator.Leader(t)
	suite.Kubectl(t, "patch", "validatingwebhookconfiguration", configuration, "--type=json",
		`--patch=[{"op":"add","path":"/webhooks/0/clientConfig/caBundle","value":"`+base64.StdEncoding.EncodeToString([]byte(authority))+`"}]`)
	suite.EventuallyReviewed(t, namespace, unknownField)
	suite.WantWarning(t, namespace, "cache", "replaces all 2 pods one by one; their cached data is lost")

	// A renewed certificate is used without a restart.
	before := cluster.Names(suite.operator.Settled(t))
	cluster.Must(t, suite.Delete(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: own, Name: secret}}))
	renewed := suite.WebhookSecret(t, own, secret, service)
	suite.Kubectl(t, "patch", "validatingwebhookconfiguration", configuration, "--type=json",
		`--patch=[{"op":"replace","path":"/webhooks/0/clientConfig/caBundle","value":"`+base64.StdEncoding.EncodeToString([]byte(renewed))+`"}]`)
	suite.EventuallyReviewed(t, namespace, unknownField)
	if after := cluster.Names(suite.operator.Settled(t)); strings.Join(after, " ") != strings.Join(before, " ") {
		t.Errorf("the operator's pods were %v and are %v", before, after)
	}
	suite.Ready(t, mc)
}

// installerOf returns the objects of `make deploy` with an environment variable.
func installerOf(t *testing.T, variable string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), "hack/installer.sh", suite.Image)
	command.Dir, command.Env, command.Stderr = cluster.Root(), append(os.Environ(), variable), os.Stderr
	output, err := command.Output()
	cluster.Must(t, err)
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
