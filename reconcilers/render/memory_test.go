// SPDX-License-Identifier: Apache-2.0

package render

import (
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// TestRender_RefusesWhatCouldNotServe has fields that exclude each other only by what the templates give a pod, the shipped ones
// and those of a site.
func TestRender_RefusesWhatCouldNotServe(t *testing.T) {
	buildsTemplates(t)
	t.Parallel()
	text := strings.NewReplacer("terminationGracePeriodSeconds: 30", "terminationGracePeriodSeconds: 90", `value: "4"`, `value: "8"`).Replace(string(shipped(t)[deploymentFile]))
	ours, site := mustNew(t, shipped(t), Defaults{}), mustNew(t, edited(t, edits{deploymentFile: text}), Defaults{})
	for _, test := range []struct {
		renderer   *Renderer
		spec, want string
	}{
		{ours, "resources: {limits: {memory: 64Mi}}", "64Mi, is less than 1.1 times its cache of 64Mi"},
		{ours, "maxItemSize: 33Mi", "items of 33Mi are more than half of the cache of 64Mi"},
		{ours, "maxConnections: 49", "49 connections are too few for 4 threads of memcached, which need some for themselves; set maxConnections to at least 50, or fewer threads"},
		{ours, "maxConnections: 50", ""},
		{site, "maxConnections: 89", "89 connections are too few for 8 threads"},
		{site, "maxConnections: 89, threads: 7", ""},
		{ours, "preStop: {sleepSeconds: 30}", "the preStop of 30 s leaves memcached no time of the grace period of 30 s; set a shorter preStop.sleepSeconds or proxy.handoverSeconds, or a longer terminationGracePeriodSeconds"},
		{ours, "preStop: {sleepSeconds: 29}", ""},
		{site, "preStop: {sleepSeconds: 30}", ""},
		{site, "preStop: {sleepSeconds: 90}", "the grace period of 90 s"},
	} {
		mc := plain()
		noError(t, yaml.Unmarshal([]byte("{"+test.spec+"}"), &mc.Spec))
		_, err := test.renderer.Render(mc)
		if test.want == "" {
			noError(t, err)
		} else if err == nil || !strings.Contains(err.Error(), "Deployment sample: ") || !strings.Contains(err.Error(), test.want) {
			t.Errorf("{%s} gives %v, want %q", test.spec, err, test.want)
		}
	}
}
