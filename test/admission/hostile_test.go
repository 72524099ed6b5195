// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/test/testenv"
)

// TestPolicy_RejectsHostileMemcacheds: no author gains anything by a row: its objects are as before, or those of the plain
// templates, or such that the author may create them. Neither do they change what
// belongs to others.
func TestPolicy_RejectsHostileMemcacheds(t *testing.T) {
	t.Parallel()
	rows := hostile()
	if len(rows) < 200 {
		t.Errorf("there are %d rows", len(rows))
	}
	for i := range rows[1:] {
		if rows[i].name == rows[i+1].name {
			t.Errorf("two rows are called %q", rows[i].name)
		}
	}
	for _, i := range installs {
		t.Run(i.name, func(t *testing.T) {
			t.Parallel()
			i.run(t, rows)
		})
	}
}

// plainName is a Memcached of defaults; refusedName one that rows aim at
// which admission refuses, so that all of them can.
const plainName, refusedName = "plain", "refused"

// trial is a row on one Memcached.
type trial struct {
	row
	target   string
	existing bool
	accepted bool
	ways     []way
}

func (i install) run(t *testing.T, rows []row) {
	// With the flag at first, so that what an administrator configured takes effect.
	stop := i.startOperator(t, "--allow-privileged-fields")
	trials := i.trials(t, rows)
	i.configure(t, trials)
	i.settle(t)
	if !i.flag {
		stop()
		i.startOperator(t)
	}
	before, neighbours := list(t, i.namespace), snapshot(t, i.neighbour())
	inParallel(trials, func(trial trial) { i.send(t, trial) })
	i.settle(t)
	after := list(t, i.namespace)
	inParallel(trials, func(trial trial) { i.compare(t, trial, before, after) })
	if foreign := after.of(t, ""); !maps.Equal(foreign, before.of(t, "")) {
		t.Errorf("objects of others changed: %v", foreign)
	}
	if now := snapshot(t, i.neighbour()); now != neighbours {
		t.Errorf("the neighbours had\n%s\nand have\n%s", neighbours, now)
	}
}

// trials returns each row on a Memcached that does not exist, and on one that does.
func (i install) trials(t *testing.T, rows []row) []trial {
	t.Helper()
	var trials []trial
	for n, r := range rows {
		accepted := i.accepts(t, r)
		for _, existing := range []bool{false, true} {
			if !existing && r.before != "" {
				continue
			}
			tr := trial{row: r, existing: existing, accepted: accepted, ways: r.ways(existing), target: targetName(n) + "-new"}
			if existing {
				tr.target = targetName(n) + "-old"
			}
			switch {
			case accepted: // once, by one way after the other over the rows
				tr.ways = tr.ways[n%len(tr.ways):][:1]
			case existing && r.before == "":
				tr.target = refusedName
			}
			trials = append(trials, tr)
		}
	}
	return trials
}

// configure creates what is there before the author comes: Memcacheds of an
// administrator, and what belongs to others.
func (i install) configure(t *testing.T, trials []trial) {
	t.Helper()
	for _, name := range []string{plainName, refusedName} {
		suite.Create(t, memcached(i.namespace, name, "{}"))
	}
	suite.Create(t, memcached(i.neighbour(), "neighbour", "{size: 2, metrics: {}, containerPort: 11311}"))
	for _, namespace := range []string{i.namespace, i.neighbour()} {
		for _, object := range foreign(namespace) {
			suite.Create(t, object)
		}
	}
	inParallel(trials, func(tr trial) {
		if tr.existing && tr.target != refusedName {
			if err := suite.Client.Create(t.Context(), memcached(i.namespace, tr.target, strings.ReplaceAll(cmp.Or(tr.before, "{}"), "NAME", tr.target))); err != nil {
				t.Errorf("%s: an administrator is refused with %v", tr.name, err)
			}
		}
	})
}

// settle waits until the operator has acted on every Memcached of the install.
func (i install) settle(t *testing.T) {
	t.Helper()
	pending := ""
	err := testenv.Poll(t.Context(), testenv.Timeout, func(ctx context.Context) (bool, error) {
		for _, namespace := range []string{i.namespace, i.neighbour()} {
			all := &cachev1alpha1.MemcachedList{}
			if err := suite.Client.List(ctx, all, client.InNamespace(namespace)); err != nil {
				return false, err
			}
			for _, mc := range all.Items {
				if mc.Status.ObservedGeneration != mc.Generation || meta.FindStatusCondition(mc.Status.Conditions, cachev1alpha1.ConditionReady) == nil {
					pending = mc.Name
					return false, nil
				}
			}
		}
		return true, nil
	})
	if err != nil {
		t.Fatalf("the operator does nothing about %s: %v", pending, err)
	}
}

// send sends the row in each of its ways.
func (i install) send(t *testing.T, tr trial) {
	c := suite.As(t, i.user)
	for _, way := range tr.ways {
		object := tr.object(i.namespace, tr.target)
		err := way.write(t.Context(), c, object)
		where := fmt.Sprintf("%s, %s of %s", tr.name, way.name, tr.target)
		switch {
		case tr.accepted && err != nil:
			t.Errorf("%s is refused: %v", where, err)
		case tr.accepted:
		case err == nil:
			t.Errorf("%s is accepted", where)
		case !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), policyName) || !names(err.Error(), tr.field):
			t.Errorf("%s: %v\nwant the policy to refuse %s", where, err, tr.field)
		}
	}
}

// compare compares the objects of a trial's Memcached with those before and the plain ones.
func (i install) compare(t *testing.T, tr trial, before, after objects) {
	plain, was, is := before.of(t, plainName), before.of(t, tr.target), after.of(t, tr.target)
	gained := i.gains(t, tr, after, func(key string) bool { return is[key] != was[key] && is[key] != plain[key] })
	for key := range was {
		if _, ok := is[key]; !ok && plain[key] != "" {
			t.Errorf("%s: the %s is gone", tr.name, key)
		}
	}
	if !tr.accepted {
		return
	}
	guarded := len(tr.rights) > 0
	reason, words := i.stalls(tr)
	i.wantStalled(t, tr, reason, words)
	if wants := guarded && i.flag && words == "" && !tr.paused; wants && !gained && tr.before == "" {
		t.Errorf("%s: %s has the rights and gets the plain templates", tr.name, i.user)
	}
	if !guarded && !maps.Equal(is, plain) {
		t.Errorf("%s: it comes to\n%v\nthe plain templates to\n%v", tr.name, is, plain)
	}
}

// stalls returns the reason and a part of the message with which an accepted trial is
// Stalled; no words say that it is not.
func (i install) stalls(tr trial) (reason, words string) {
	if len(tr.rights) > 0 && !i.flag && !tr.paused {
		return cachev1alpha1.ReasonPrivilegedField, tr.field
	}
	return cachev1alpha1.ReasonInvalidPatch, tr.stalled
}

// gains reports whether the trial's Memcached has objects that differ, each of which the
// user must be able to create.
func (i install) gains(t *testing.T, tr trial, after objects, differs func(key string) bool) (gained bool) {
	c := suite.As(t, i.user)
	for key, text := range after.of(t, tr.target) {
		if !differs(key) {
			continue
		}
		gained = true
		object := after[tr.target][strings.ReplaceAll(key, "NAME", tr.target)]
		if err := creatable(t, c, object); err != nil {
			t.Errorf("%s: %s gains a %s which they may not create (%.200v):\n%.400s", tr.name, i.user, key, err, text)
		}
	}
	return gained
}

// wantStalled compares what the operator says: stalled with these words, or not at all.
func (i install) wantStalled(t *testing.T, tr trial, reason, words string) {
	mc := &cachev1alpha1.Memcached{}
	if err := suite.Client.Get(t.Context(), client.ObjectKey{Namespace: i.namespace, Name: tr.target}, mc); err != nil {
		t.Errorf("%s: %v", tr.name, err)
		return
	}
	stalled := meta.FindStatusCondition(mc.Status.Conditions, cachev1alpha1.ConditionStalled)
	switch {
	case stalled == nil && words != "":
		t.Errorf("%s: the Memcached is not Stalled, want %s: %s", tr.name, reason, words)
	case stalled != nil && words == "":
		t.Errorf("%s: the Memcached is Stalled, %s: %s", tr.name, stalled.Reason, stalled.Message)
	case stalled != nil && (stalled.Reason != reason || !names(stalled.Message, words)):
		t.Errorf("%s: the Memcached is Stalled, %s: %s\nwant %s: %s", tr.name, stalled.Reason, stalled.Message, reason, words)
	}
}

// foreign returns objects that the operator did not create.
func foreign(namespace string) []*unstructured.Unstructured {
	var all []*unstructured.Unstructured
	for _, text := range []string{
		"{apiVersion: v1, kind: Service, metadata: {name: checkout}, spec: {clusterIP: None, selector: {role: checkout}, ports: [{port: 80}]}}",
		"{apiVersion: apps/v1, kind: Deployment, metadata: {name: checkout}, spec: {selector: {matchLabels: {role: checkout}}, " +
			"template: {metadata: {labels: {role: checkout}}, spec: {containers: [{name: checkout, image: checkout}]}}}}",
		"{apiVersion: v1, kind: Secret, metadata: {name: web}, stringData: {tls.crt: a, tls.key: b}}",
	} {
		object := &unstructured.Unstructured{}
		if err := yaml.UnmarshalStrict([]byte(text), &object.Object); err != nil {
			panic(err)
		}
		object.SetNamespace(namespace)
		all = append(all, object)
	}
	return all
}

// inParallel calls f for each trial, a few at a time.
func inParallel(trials []trial, f func(trial)) {
	var group sync.WaitGroup
	queue := make(chan trial)
	for range 4 {
		group.Go(func() {
			for tr := range queue {
				f(tr)
			}
		})
	}
	for _, tr := range trials {
		queue <- tr
	}
	close(queue)
	group.Wait()
}

// names reports whether a message names each of the fields.
func names(message, fields string) bool {
	for field := range strings.SplitSeq(fields, ", ") {
		if !strings.Contains(message, field) {
			return false
		}
	}
	return true
}
