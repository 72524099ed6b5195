// SPDX-License-Identifier: Apache-2.0

package fields

import (
	"strings"
)

// sample is what the schema cannot tell about a property: values of it.
type sample struct {
	// valid is not the default, and the API server takes the objects rendered of it.
	valid any
	// boundary values are accepted too, and render otherwise than valid.
	boundary []any
	// refused values are of the right type, and still refused.
	refused []any
}

// samples are found by the longest end of a property's path.
var samples = map[string]sample{
	"spec.size":                   {valid: 2, boundary: []any{0, 1000}},
	"proxy.size":                  {valid: 3, boundary: []any{1, 100}},
	"proxy.handoverSeconds":       {valid: 30, boundary: []any{10, 600}, refused: []any{9, 601}},
	"proxy.zones":                 {valid: list{"sample", "b"}, boundary: []any{list{"a", "b", "c", "d", "sample"}}, refused: []any{list{"a", "b"}}},
	"proxy.zones[]":               {valid: "sample", refused: []any{"Sample", ""}},
	"spec.image":                  {valid: image, boundary: []any{"a", "example.com/" + strings.Repeat("a", 500)}, refused: []any{"my image"}},
	"metrics.image":               {valid: image, boundary: []any{"a", "example.com/" + strings.Repeat("a", 500)}, refused: []any{"my image"}},
	"flash.size":                  {valid: "2Gi", boundary: []any{"1Gi", "16Ti", 1073741824}, refused: []any{"1023Mi", "17Ti", "1e10", "garbage", -1}},
	"flash.storageClassName":      {valid: "fast", boundary: []any{"a", strings.Repeat("a", 253)}},
	"spec.memory":                 {valid: "128Mi", boundary: []any{"16Mi", "1Ti", 17825792}, refused: []any{"15Mi", "1025Gi", "1e9", "garbage", -1}},
	"spec.maxItemSize":            {valid: "2Mi", boundary: []any{"1Ki", "1Gi", 1048576 * 3}, refused: []any{1023, "1025Mi", "1e6", "garbage", -1}},
	"spec.maxConnections":         {valid: 2048, boundary: []any{20, 500000}, refused: []any{19}},
	"spec.extraArgs[]":            {valid: "--disable-cas", boundary: []any{"--extended=slab_automove_ratio=1.5"}, refused: []any{"--udp-port=1", "-U 1", "--disable-cas "}},
	"spec.tls.clientAuth":         {valid: "Request", boundary: []any{"Require", "None"}},
	"proxy.service.type":          {valid: "NodePort", boundary: []any{"LoadBalancer", "ClusterIP"}, refused: []any{"ExternalName"}},
	"spec.auth.key":               {valid: "users", boundary: []any{"a", strings.Repeat("a", 253)}},
	"podDisruptionBudget":         {valid: object{"maxUnavailable": 2}},
	"maxUnavailable":              {valid: 2, boundary: []any{0, "0%", "100%", 1000}, refused: []any{-1, "101%", "2", 1001}},
	"spec.rollout":                {valid: object{"maxSurge": 2}},
	"maxSurge":                    {valid: 2, boundary: []any{1, "1%", "100%", 1000}, refused: []any{-1, "101%", "2", 1001, 0, "0%"}},
	"spec.tolerations[]":          {valid: object{"operator": "Exists"}, refused: []any{object{}}},
	"spec.service":                {valid: object{"clusterIP": object{}}},
	"limits":                      {valid: object{"memory": "1Gi"}},
	"limits.memory":               {valid: "2Gi", boundary: []any{"3G", 4294967296}, refused: []any{"garbage", "-1", -1, "1e9", true}},
	".cpu":                        {valid: 0.5, boundary: []any{3, "1500m", "0"}, refused: []any{"garbage", "-1m", "1e3", true, object{}, list{}, object{"a": 1}, list{1}}},
	"requests.memory":             {valid: "2", boundary: []any{0, "1Gi"}, refused: []any{"garbage", "-1", -1, "1e9", true}},
	"ephemeral-storage":           {valid: "2", boundary: []any{0, "1Gi"}, refused: []any{"garbage", "-1", -1, "1e9", true}},
	"[key]":                       {valid: "a", boundary: []any{""}},
	"labels[key]":                 {valid: "a", boundary: []any{"", strings.Repeat("a", 63)}, refused: []any{"a b", "-"}},
	"spec.nodeSelector[key]":      {valid: "a", boundary: []any{"", strings.Repeat("a", 63)}, refused: []any{"a b", "-"}},
	"spec.parameters":             {refused: []any{object{"a.b": "a"}, object{"../a": "a"}, object{"A": "a"}, object{"1": "a"}, object{"a-b": "a"}, object{"": "a"}}},
	"parameters[key]":             {valid: "a", boundary: []any{strings.Repeat("a", 1024), "true", "1", "{a: b}"}},
	"annotations[key]":            {valid: "a b", boundary: []any{"", strings.Repeat("a", 4096)}},
	"spec.patches[]":              {boundary: []any{object{"target": object{"kind": "Deployment"}, "patch": "metadata: {annotations: {example.com/patched: 'true'}}"}}},
	"patches[].patch":             {valid: patch, boundary: []any{"metadata: {annotations: {example.com/patched: 'true'}}"}},
	"patches[].target.kind":       {valid: "Service", boundary: []any{"Deployment"}, refused: []any{"deployment", ""}},
	"patches[].target.group":      {valid: "", boundary: []any{"apps", strings.Repeat("a", 253)}, refused: []any{"Apps"}},
	"patches[].target.name":       {valid: "sample", boundary: []any{"a", strings.Repeat("a", 253)}, refused: []any{"Sample", ""}},
	"Name":                        {valid: "sample", boundary: []any{"a", strings.Repeat("a", 253)}, refused: []any{"Sample", ""}},
	"imagePullSecrets[].name":     {valid: "sample", boundary: []any{"a", strings.Repeat("a", 253)}, refused: []any{"Sample", ""}},
	".key":                        {valid: "example.com/a", boundary: []any{"example.com/b"}},
	"matchFields[].key":           {valid: "metadata.name", refused: []any{"metadata.namespace"}},
	"matchExpressions[]":          {valid: object{"key": "example.com/a", "operator": "In", "values": list{"a"}}},
	"matchFields[]":               {valid: object{"key": "metadata.name", "operator": "In", "values": list{"a"}}},
	".operator":                   {valid: "NotIn", boundary: []any{"In"}, refused: []any{"Exists"}},
	".values[]":                   {valid: "a", boundary: []any{"b"}},
	"topologyKey":                 {valid: "kubernetes.io/hostname", boundary: []any{"topology.kubernetes.io/zone"}},
	"atchLabelKeys[]":             {valid: "example.com/a", boundary: []any{"example.com/b"}},
	".namespaces[]":               {valid: "a", boundary: []any{"b"}},
	"tolerations[].operator":      {valid: "Exists", boundary: []any{"Equal"}},
	"tolerations[].effect":        {valid: "NoSchedule", boundary: []any{"NoExecute", "PreferNoSchedule"}},
	"tolerations[].value":         {valid: "a", boundary: []any{"b"}},
	"nodeAffinityPolicy":          {valid: "Ignore", boundary: []any{"Honor"}},
	"nodeTaintsPolicy":            {valid: "Ignore", boundary: []any{"Honor"}},
	"whenUnsatisfiable":           {valid: "DoNotSchedule", boundary: []any{"ScheduleAnyway"}},
	".maxSkew":                    {valid: 2, boundary: []any{1, 1000}},
	".minDomains":                 {valid: 2, boundary: []any{1, 1000}},
	"ipBlock.cidr":                {valid: "10.0.0.0/8", boundary: []any{"0.0.0.0/0", "::/0"}, refused: []any{"10.0.0.0", "10.0.0.0/33"}},
	"ipBlock.except[]":            {valid: "10.1.0.0/16", boundary: []any{"10.2.0.0/32"}, refused: []any{"11.0.0.0/16", "10.0.0.0/8"}},
	"networkPolicy.from[]":        {valid: object{"podSelector": object{}}, boundary: []any{object{"podSelector": object{}, "namespaceSelector": object{}}}, refused: []any{object{}, object{"podSelector": object{}, "ipBlock": object{"cidr": "10.0.0.0/8"}}}},
	"networkPolicy.metricsFrom[]": {valid: object{"podSelector": object{}}, boundary: []any{object{"podSelector": object{}, "namespaceSelector": object{}}}, refused: []any{object{}, object{"podSelector": object{}, "ipBlock": object{"cidr": "10.0.0.0/8"}}}},
}

const (
	image = "registry.example.com/caches/memcached:1.6.45"
	// patch adds once more each time that it is applied.
	patch = `[{op: add, path: /spec/ports/-, value: {name: more, port: 11299}}]`
)

// always are properties that an object has whatever is tried in it, since Kubernetes
// wants them together; found by the longest end of the object's path.
var always = map[string]object{
	"matchExpressions[]": {"operator": "In", "values": list{"a"}},
	"matchFields[]":      {"operator": "In", "values": list{"a"}},
	"podAffinityTerm":    {"labelSelector": selector},
	"podAffinity.requiredDuringSchedulingIgnoredDuringExecution[]":     {"labelSelector": selector},
	"podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[]": {"labelSelector": selector},
	"topologySpreadConstraints[]":                                      {"labelSelector": selector},
}

var selector = object{"matchLabels": object{"example.com/a": "a"}}

// beside are properties that one property needs beside it; found by the longest end
// of its path.
var beside = map[string]object{
	"spec.maxItemSize":    {"memory": "4Gi"},
	"spec.preStop":        {"terminationGracePeriodSeconds": 3600},
	"spec.networkPolicy":  {"metrics": object{}},
	"spec.maxConnections": {"threads": 1},
	"spec.warmRestart":    {"memory": "4Gi"},
	// There are two Services then, of which a target can name one.
	"spec.patches":                                  {"service": object{"clusterIP": object{}}},
	"networkPolicy.from[].podSelector":              {"namespaceSelector": selector},
	"networkPolicy.from[].namespaceSelector":        {"podSelector": selector},
	"networkPolicy.metricsFrom[].podSelector":       {"namespaceSelector": selector},
	"networkPolicy.metricsFrom[].namespaceSelector": {"podSelector": selector},
	"tolerations[].key":                             {"operator": "Exists"},
	"tolerations[].operator":                        {"key": "a"},
	"tolerations[].value":                           {"key": "a"},
	"tolerations[].effect":                          {"operator": "Exists"},
	"tolerations[].tolerationSeconds":               {"operator": "Exists", "effect": "NoExecute"},
}

// unseen are the properties whose value shows in no object, and why.
var unseen = map[string]string{
	"spec.paused": "the reconciler stops before it writes; what is rendered stays the same",
}

// indispensable are optional properties that their object is refused without, unless it
// has others in their place, and why.
var indispensable = map[string]string{
	"ipBlock":                   "a peer has either a block or selectors",
	"matchExpressions[].values": "In and NotIn need values",
}

// implied are properties whose valid value renders as no value does, and why.
var implied = map[string]string{
	"spec.patches[].target.group": "no kind of the templates is in two groups, so a group selects what the kind does, or nothing",
}

// unrenderable are properties of which other values cannot be rendered, and why.
var unrenderable = map[string]string{
	"spec.patches[].target.kind":  "a patch that fits no object is an error",
	"spec.patches[].target.group": "a patch that fits no object is an error",
	"spec.patches[].target.name":  "a patch that fits no object is an error",
	"spec.patches":                "the same port twice is an error",
}

// find returns the entry of table whose key is the longest end of path.
func find[T any](table map[string]T, path string) (T, bool) {
	var found T
	longest := -1
	for end, entry := range table {
		if strings.HasSuffix(path, end) && len(end) > longest {
			found, longest = entry, len(end)
		}
	}
	return found, longest >= 0
}
