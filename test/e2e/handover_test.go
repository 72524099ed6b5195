// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/test/e2e/cluster"
	"github.com/example/memcached-operator/test/testenv"
)

// TestHandOver_KeepsKeys replaces all pods of a cache, adds one and removes it again, and reads some keys during each change. When it is
// over, and the pods of before are gone, all of them are still there, and those that are not read in the time.
func TestHandOver_KeepsKeys(t *testing.T) {
	t.Parallel()
	namespace := suite.NewNamespace(t)
	mc := suite.Ready(t, suite.NewMemcached(t, namespace, "kept", 2, func(spec *cachev1alpha1.MemcachedSpec) {
		spec.Proxy = &cachev1alpha1.Proxy{HandoverSeconds: new(int32(15))}
	}))
	inside := suite.Inside(t, namespace)
	const keys = 40
	var set, get, setUnread, getUnread []string
	for i := range keys {
		set = append(set, fmt.Sprintf("set key-%d 0 0 1", i), "v")
		get = append(get, fmt.Sprintf("get key-%d", i))
		setUnread = append(setUnread, fmt.Sprintf("set unread-%d 0 0 1", i), "v")
		getUnread = append(getUnread, fmt.Sprintf("get unread-%d", i))
	}
	count := func(part string, commands []string) int {
		return strings.Count(strings.Join(inside.Ask(t, "kept-proxy", cluster.Port, commands...), "\n"), part)
	}
	store := func(set, get []string) {
		testenv.Eventually(t, "all keys should be stored on their nodes", func(context.Context) (bool, error) {
			stored := count("STORED", set)
			// On a busy machine a node may count as down for a second, and a stand-in have stored some, for a minute.
			later := time.Now().Add(3 * time.Second)
			testenv.Eventually(t, "three seconds should pass", func() bool { return time.Now().After(later) })
			return stored == keys && count("VALUE", get) == keys, nil
		})
	}
	store(set, get)
	list := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "kept-proxy-nodes"}}
	for _, change := range []string{
		`{"podMetadata":{"annotations":{"example.com/changed":"1"}}}`, `{"size":3}`, `{"size":2}`,
	} {
		store(setUnread, getUnread)
		since := time.Now()
		suite.Patch(t, mc, `{"spec":`+change+`}`)
		begun, told := false, false
		testenv.Eventually(t, "the hand-over should end", func(context.Context) (bool, string, error) {
			suite.Get(t, list)
			lines := list.Data["nodes"]
			isRunning := strings.Contains(lines, "old ") || strings.Contains(lines, "was ")
			begun = begun || isRunning
			suite.Get(t, mc)
			if ready := meta.FindStatusCondition(mc.Status.Conditions, cachev1alpha1.ConditionReady); isRunning && ready != nil {
				told = told || strings.Contains(ready.Message, "the proxies move items to other pods until ")
			}
			if found := count("VALUE", get); found < keys {
				t.Logf("%s: %d of %d keys are found %s after the change, with the list\n%s", change, found, keys, time.Since(since), lines)
			}
			return begun && !isRunning, lines, nil
		})
		if !told {
			t.Errorf("%s: Ready said nothing of the hand-over", change)
		}
		suite.Get(t, mc)
		suite.Ready(t, mc)
		suite.NoneTerminates(t, namespace)
		testenv.Eventually(t, "all keys should be found after "+change, func(context.Context) (bool, error) { return count("VALUE", get) == keys, nil })
		if found := count("VALUE", getUnread); found < keys {
			t.Errorf("%s: %d of %d keys that were not read are found", change, found, keys)
		}
		t.Logf("%s: over after %s", change, time.Since(since).Round(time.Second))
	}
}
