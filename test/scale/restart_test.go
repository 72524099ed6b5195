// SPDX-License-Identifier: Apache-2.0

//go:build scale

package scale

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/manifests"
	"github.com/example/memcached-operator/test/testenv"
)

// restartFigures are about a start of the operator when nothing has changed.
type restartFigures struct {
	// ready is from the start of the process to readiness, leads to the lease.
	ready, leads time.Duration
	// writes are the operator's, without those for the new Memcached.
	writes int
	// served is from the lease to the last child of a Memcached that was created right after
	// the start of the process, or from its creation when that came later.
	served time.Duration
	used   usage
}

// measureRestart stops o, starts the operator again, creates a Memcached at once, and waits
// until the operator has looked at all of count Memcacheds.
func (e *env) measureRestart(t *testing.T, o *operator, count int) (*operator, restartFigures) {
	t.Helper()
	o.stop(t)
	added := e.watchChildren(t, "created-after-restart")
	before := e.proxy.counts()
	o = e.start(t)
	testenv.NoError(t, e.Client.Create(t.Context(), testenv.Memcached(newNamespace, "created-after-restart", 0)))
	createdAt := time.Now()
	var figures restartFigures
	figures.ready = o.ready(t)
	lastChild := added.last(t)
	leads := e.proxy.leaderSince()
	figures.leads = leads.Sub(o.started)
	from := leads
	if createdAt.After(from) {
		from = createdAt
	}
	figures.served = max(0, lastChild.Sub(from))
	o.settle(t, count+1)
	figures.writes = e.proxy.counts().since(before).of(func(r request) bool { return r.isWrite() && r.namespace != newNamespace })
	figures.used = o.usage(t)
	return o, figures
}

// reloadFigures are about a change of the templates that changes no object.
type reloadFigures struct {
	// took is from the use of the templates until every Memcached was reconciled, served from the creation of another
	// Memcached meanwhile to its last child.
	took, served time.Duration
	// writes are the operator's, without those for the new Memcached and dry-runs.
	writes int
}

// measureReload stops o, starts the operator with a directory of templates, and changes a comment in one of them.
func (e *env) measureReload(t *testing.T, o *operator, count int) (*operator, reloadFigures) {
	t.Helper()
	o.stop(t)
	const template = "base/service.yaml"
	directory := t.TempDir()
	content, err := manifests.FS.ReadFile(template)
	testenv.NoError(t, err)
	testenv.NoError(t, os.Mkdir(filepath.Join(directory, "base"), 0o700))
	testenv.NoError(t, os.WriteFile(filepath.Join(directory, template), content, 0o600))
	o = e.start(t, "--manifests-dir="+directory)
	o.ready(t)
	o.settle(t, count)
	added := e.watchChildren(t, "created-during-reload")
	before, reconciles := e.proxy.counts(), o.reconciles(t)
	testenv.NoError(t, os.WriteFile(filepath.Join(directory, template), append(content, "# changed\n"...), 0o600))
	testenv.Eventually(t, "the templates should be reloaded", func() bool { return strings.Contains(o.Log.String(), "Templates reloaded") })
	reloadedAt := time.Now()
	testenv.NoError(t, e.Client.Create(t.Context(), testenv.Memcached(newNamespace, "created-during-reload", 0)))
	createdAt := time.Now()
	var figures reloadFigures
	figures.served = max(0, added.last(t).Sub(createdAt))
	testenv.Within(t, 10*time.Minute, "every Memcached should be reconciled", func() bool { return o.reconciles(t) >= reconciles+count })
	figures.took = time.Since(reloadedAt)
	o.settle(t, 0)
	figures.writes = e.proxy.counts().since(before).of(func(r request) bool { return r.isWrite() && r.namespace != newNamespace })
	return o, figures
}

// childKinds are the kinds of the objects that a Memcached gets.
var childKinds = []schema.GroupVersionKind{
	{Group: "apps", Version: "v1", Kind: "Deployment"},
	{Group: "", Version: "v1", Kind: "Service"},
	{Group: "policy", Version: "v1", Kind: "PodDisruptionBudget"},
}

// additions receives when the first object of each of childKinds was added.
type additions chan time.Time

// watchChildren watches newNamespace for the children of a Memcached until the test ends.
func (e *env) watchChildren(t *testing.T, name string) additions {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	watcher := e.watcher(t)
	added := make(additions, len(childKinds))
	for _, kind := range childKinds {
		watching, err := watcher.Watch(ctx, metadataList(kind), client.InNamespace(newNamespace))
		testenv.NoError(t, err)
		go func() {
			for event := range watching.ResultChan() {
				if object, ok := event.Object.(metav1.Object); ok && event.Type == watch.Added && object.GetName() == name {
					added <- time.Now()
					return
				}
			}
		}()
	}
	return added
}

// last waits for an object of each kind and returns when the last one was added.
func (a additions) last(t *testing.T) time.Time {
	t.Helper()
	var last time.Time
	timeout := time.After(testenv.Timeout)
	for range childKinds {
		select {
		case at := <-a:
			if at.After(last) {
				last = at
			}
		case <-timeout:
			t.Fatalf("the new Memcached did not get its children within %s", testenv.Timeout)
		}
	}
	return last
}
