// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"strings"
	"testing"

	lua "github.com/yuin/gopher-lua"
	"sigs.k8s.io/yaml"

	"github.com/example/memcached-operator/test/testenv"
)

// TestArgoCD_Health runs the script as Argo CD does, with its interpreter.
func TestArgoCD_Health(t *testing.T) {
	t.Parallel()
	script := read(t, "config/argocd/health.lua")
	condition := func(kind, status, reason string) string {
		return "{type: " + kind + ", status: \"" + status + "\", reason: " + reason + ", message: of " + kind + "}"
	}
	ready, rolling := condition("Ready", "True", "Ready"), condition("Ready", "False", "RollingOut")
	for sentence, test := range map[string]struct{ status, health, message string }{
		"no status":            {"", "Progressing", "waiting for the operator"},
		"no conditions":        {"status: {observedGeneration: 2}", "Progressing", "waiting for the operator"},
		"an earlier spec":      {"status: {observedGeneration: 1, conditions: [" + ready + "]}", "Progressing", "waiting for the operator"},
		"ready":                {"status: {observedGeneration: 2, conditions: [" + ready + "]}", "Healthy", "of Ready"},
		"rolling out":          {"status: {observedGeneration: 2, conditions: [" + rolling + ", " + condition("Reconciling", "True", "RollingOut") + "]}", "Progressing", "of Ready"},
		"stalled":              {"status: {observedGeneration: 2, conditions: [" + rolling + ", " + condition("Stalled", "True", "ApplyFailed") + "]}", "Degraded", "of Stalled"},
		"paused":               {"status: {observedGeneration: 2, conditions: [" + condition("Ready", "Unknown", "Paused") + "]}", "Suspended", "of Ready"},
		"available, not ready": {"status: {observedGeneration: 2, conditions: [" + condition("Available", "True", "MinimumPodsReady") + ", " + rolling + "]}", "Progressing", "of Ready"},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			var object any
			testenv.NoError(t, yaml.Unmarshal([]byte("metadata: {name: cache, generation: 2}\n"+test.status), &object))
			state := lua.NewState()
			defer state.Close()
			state.SetGlobal("obj", luaValue(state, object))
			testenv.NoError(t, state.DoString(script))
			health := state.ToTable(-1)
			if got := health.RawGetString("status").String(); got != test.health || health.RawGetString("message").String() != test.message {
				t.Errorf("it is %s: %s, want %s: %s", got, health.RawGetString("message"), test.health, test.message)
			}
		})
	}
	if page := read(t, "docs/user/gitops.md"); !strings.Contains(page, "resource.customizations.health.cache.example.com_Memcached") {
		t.Error("the page does not name the key of Memcacheds")
	}
}

// luaValue returns a value of JSON in Lua.
func luaValue(state *lua.LState, value any) lua.LValue {
	switch v := value.(type) {
	case map[string]any:
		table := state.NewTable()
		for key, item := range v {
			table.RawSetString(key, luaValue(state, item))
		}
		return table
	case []any:
		table := state.NewTable()
		for _, item := range v {
			table.Append(luaValue(state, item))
		}
		return table
	case float64:
		return lua.LNumber(v)
	case string:
		return lua.LString(v)
	default:
		return lua.LNil
	}
}
