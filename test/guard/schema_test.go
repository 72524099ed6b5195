// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// refusedArguments are arguments of memcached that would do more than tune it, in the
// spellings that it takes.
var refusedArguments = map[string]string{
	"UDP":                                  "--udp-port=11211",
	"UDP, abbreviated":                     "--udp=11211",
	"UDP by the short option":              "-U11211",
	"UDP by the short option and a blank":  "-U 11211",
	"UDP in capitals":                      "--UDP-PORT=11211",
	"UDP behind a blank":                   " --udp-port=11211",
	"UDP on a second line":                 "--disable-cas\n--udp-port=11211",
	"UDP behind a good option":             "--disable-cas --udp-port=11211",
	"UDP by the environment":               "--udp-port=$(MEMCACHED_PORT)",
	"an address to listen on":              "--listen=0.0.0.0",
	"an address to listen on, abbreviated": "--lis=0.0.0.0",
	"an address by the short option":       "-l0.0.0.0",
	"another port":                         "--port=22122",
	"the port by the short option":         "-p22122",
	"another user":                         "--user=root",
	"another user by the short option":     "-uroot",
	"users of the author's":                "--auth-file=/tmp/users",
	"users, abbreviated":                   "--auth=/etc/passwd",
	"users by the short option":            "-Y/etc/passwd",
	"a password":                           "--auth-password=hunter2",
	"a password as an extended option":     "--extended=password=hunter2",
	"a socket":                             "--unix-socket=/tmp/memcached",
	"the socket by the short option":       "-s/tmp/memcached",
	"the mode of the socket":               "--unix-mask=777",
	"a file for the memory":                "--memory-file=/dev/shm/memory",
	"the memory file by the short option":  "-e/dev/shm/memory",
	"a shutdown by any client":             "--enable-shutdown",
	"the shutdown by the short option":     "-A",
	"core dumps":                           "--enable-coredumps",
	"a file with its process id":           "--pidfile=/tmp/pid",
	"the background":                       "--daemon",
	"a protocol without users":             "--protocol=binary",
	"SASL":                                 "--enable-sasl",
	"TLS of the author's":                  "--enable-ssl",
	"a key of the author's":                "--extended=ssl_key=/tmp/key",
	"a key behind a good option":           "--extended=hashpower=20,ssl_key=/tmp/key",
	"a key in another case":                "--extended=SSL_KEY=/tmp/key",
	"storage on a disk":                    "--extended=ext_path=/data/file:1G",
	"a program for the proxy":              "--extended=proxy_config=/tmp/proxy.lua",
	"a variable for a number":              "--slab-growth-factor=$(HOME)",
	"a variable alone":                     "$(MEMCACHED_ARGUMENTS)",
	"the end of options":                   "--",
	"nothing":                              "",
	"a word":                               "memcached",
	"its own field":                        "--memory-limit=1048576",
	"its own field as an extended option":  "--extended=idle_timeout=1",
}

func TestNoArgumentOpensAnything(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	for sentence, argument := range refusedArguments {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			mc := memcached(namespace, victim, "extraArgs: []")
			mc.Object["spec"].(map[string]any)["extraArgs"] = []any{"--disable-cas", argument}
			wantInvalid(t, mc, "spec.extraArgs[1]", "extraArgs takes options for tuning only")
		})
	}
}

// What no author may have, an administrator neither: the schema does not know it.
func TestTheSchemaRefuses(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	for sentence, row := range map[string]struct{ name, spec, field string }{
		"an image with a variable":                     {spec: "image: $(IMAGE)", field: "spec.image"},
		"an image with arguments":                      {spec: "image: memcached --udp-port=1", field: "spec.image"},
		"an exporter's image with a variable":          {spec: "metrics: {image: $(IMAGE)}", field: "spec.metrics.image"},
		"a Secret of another namespace":                {spec: "tls: {secretName: kube-system/web}", field: "spec.tls.secretName"},
		"a Secret by a path":                           {spec: "auth: {secretName: ../users}", field: "spec.auth.secretName"},
		"a Secret without a name":                      {spec: "tls: {secretName: ''}", field: "spec.tls.secretName"},
		"no Secret":                                    {spec: "tls: {}", field: "spec.tls.secretName"},
		"a key by a path":                              {spec: "auth: {secretName: users, key: ../../key}", field: "spec.auth.key"},
		"a Secret to pull images of another namespace": {spec: "imagePullSecrets: [{name: kube-system/registry}]", field: "spec.imagePullSecrets[0].name"},
		"more Secrets to pull images than can be asked about": {
			spec: "imagePullSecrets: [{name: a}, {name: b}, {name: c}, {name: d}, {name: e}, {name: f}, {name: g}, {name: h}, {name: i}]", field: "spec.imagePullSecrets"},
		"a service account of another namespace": {spec: "serviceAccountName: kube-system/admin", field: "spec.serviceAccountName"},
		"a service account by a variable":        {spec: "serviceAccountName: $(ACCOUNT)", field: "spec.serviceAccountName"},
		"a priority class by a variable":         {spec: "priorityClassName: $(CLASS)", field: "spec.priorityClassName"},
		"pods that our own Service selects":      {spec: "podMetadata: {labels: {app: memcached}}", field: "spec.podMetadata.labels"},
		"pods of another Memcached":              {spec: "podMetadata: {labels: {memcached_cr: other}}", field: "spec.podMetadata.labels"},
		"pods of another ReplicaSet":             {spec: "podMetadata: {labels: {pod-template-hash: abc}}", field: "spec.podMetadata.labels"},
		"pods that nobody manages":               {spec: "podMetadata: {labels: {app.kubernetes.io/managed-by: me}}", field: "spec.podMetadata.labels"},
		"a label that is none":                   {spec: "podMetadata: {labels: {'a b': c}}", field: "spec.podMetadata.labels"},
		"an annotation that is none":             {spec: "podMetadata: {annotations: {'a b': c}}", field: "spec.podMetadata.annotations"},
		"a Service that the operator loses":      {spec: "service: {labels: {app.kubernetes.io/managed-by: me}}", field: "spec.service.labels"},
		"a ServiceMonitor that it loses":         {spec: "metrics: {serviceMonitor: {labels: {app.kubernetes.io/managed-by: me}}}", field: "spec.metrics.serviceMonitor.labels"},
		"alerts that it loses":                   {spec: "metrics: {rules: {labels: {app: me}}}", field: "spec.metrics.rules.labels"},
		"a patch of all kinds":                   {spec: patch("kind: .*", "spec: {}"), field: "spec.patches[0].target.kind"},
		"a patch of kinds by a list":             {spec: patch("kind: Deployment|Role", "spec: {}"), field: "spec.patches[0].target.kind"},
		"a patch of all groups":                  {spec: patch("kind: Role, group: .*", "spec: {}"), field: "spec.patches[0].target.group"},
		"a patch of no kind":                     {spec: patch("name: x", "spec: {}"), field: "spec.patches[0].target.kind"},
		"a patch of no target":                   {spec: "patches: [{patch: 'spec: {}'}]", field: "spec.patches[0].target"},
		"more patches than can be asked about":   {spec: "patches: [" + strings.Repeat("{target: {kind: Service}, patch: 'spec: {}'}, ", 17) + "]", field: "spec.patches"},
		"a patch that is too long":               {spec: patch("kind: Service", "a: "+strings.Repeat("x", 17000)), field: "spec.patches[0].patch"},
		"users beside an exporter":               {spec: "{auth: {secretName: users}, metrics: {}}", field: "spec.auth"},
		"a port of root's":                       {spec: "containerPort: 80", field: "spec.containerPort"},
		"fewer pods than none":                   {spec: "size: -1", field: "spec.size"},
		"a name of another kind of object":       {name: "a.b", spec: "{}", field: "metadata"},
		"a name that pods cannot have":           {name: strings.Repeat("a", 53), spec: "{}", field: "metadata"},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			name := victim
			if row.name != "" {
				name = row.name
			}
			wantInvalid(t, memcached(namespace, name, row.spec), row.field)
		})
	}
}

// wantInvalid writes mc in every way, as the author and as an administrator: the schema
// has to refuse it with all of words.
func wantInvalid(t *testing.T, mc *unstructured.Unstructured, words ...string) {
	t.Helper()
	hostile, err := as()
	fatal(t, err)
	for who, c := range map[string]client.Client{"the author": hostile, "an administrator": cluster.Client} {
		for how, write := range ways(false) {
			err := write(t.Context(), c, mc.DeepCopy())
			if err == nil {
				t.Fatalf("%s by %s is not refused", how, who)
			}
			if !apierrors.IsInvalid(err) {
				t.Errorf("%s by %s: %v", how, who, err)
			}
			for _, word := range words {
				if !strings.Contains(err.Error(), word) {
					t.Errorf("%s by %s: the message lacks %q: %v", how, who, word, err)
				}
			}
		}
	}
}
