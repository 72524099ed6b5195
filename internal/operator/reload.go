// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/example/memcached-operator/internal/memory"
	"github.com/example/memcached-operator/internal/templates"
	"github.com/example/memcached-operator/reconcilers/preflight"
	"github.com/example/memcached-operator/reconcilers/render"
)

const (
	// pollInterval is the interval at which the templates are read. A change is used once two reads agree, since a program may write
	// several files.
	pollInterval = time.Second
	// Rejected templates are checked again, since the API server may have been the reason: missing permissions, a missing
	// kind, a policy. Each check takes a dry-run of every object, so the delay doubles from minRecheck to maxRecheck.
	minRecheck = 30 * time.Second
	maxRecheck = 10 * time.Minute
)

var (
	reloadSuccessful = prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "memcached_operator_templates_last_reload_successful",
		Help: "Whether the templates in --manifests-dir are those in use: 0 while a change of them is rejected.",
	})

	fullBuilds = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "memcached_operator_full_build_sets_total",
		Help: "Sets of components whose Memcacheds take a full kustomize build each, since the templates change a value that a replacement fills in.",
	})
)

func init() {
	metrics.Registry.MustRegister(reloadSuccessful, fullBuilds)
	reloadSuccessful.Set(1)
}

// reloader reloads the templates when a file in --manifests-dir changes. It implements manager.Runnable.
type reloader struct {
	options *templates.Options
	check   func(context.Context, *render.Renderer) (*preflight.Result, error)
	reload  func(context.Context, *render.Renderer, *preflight.Result) error
	events  *podEvents
	// active are the templates in use.
	active render.Tree
	// read is what the directory held at the last read, and judged what it held when its templates were put into use or rejected.
	read, judged directory
	// rejected is why the templates in the directory are not in use; empty if they are. They are checked again at recheck, which
	// is recheckIn after the last check.
	rejected  string
	recheck   time.Time
	recheckIn time.Duration
}

// directory is what a read of --manifests-dir returned. No read equals the zero value, since err is never empty.
type directory struct {
	files render.Tree
	// err is the text of the error, "<nil>" for none.
	err string
}

func (d directory) equal(other directory) bool {
	return d.err == other.err && maps.EqualFunc(d.files, other.files, bytes.Equal)
}

// newReloader returns a reloader of options.Dir. active are the templates in use. check checks templates with the API
// server, and reload puts them into use.
func newReloader(events *podEvents, options *templates.Options, active render.Tree,
	check func(context.Context, *render.Renderer) (*preflight.Result, error),
	reload func(context.Context, *render.Renderer, *preflight.Result) error,
) *reloader {
	return &reloader{options: options, check: check, reload: reload, events: events, active: active}
}

// NeedLeaderElection implements manager.LeaderElectionRunnable. Every replica reloads, so that each next leader has
// the same templates.
func (r *reloader) NeedLeaderElection() bool { return false }

// Start implements manager.Runnable.
func (r *reloader) Start(ctx context.Context) error {
	ctx = log.IntoContext(ctx, log.FromContext(ctx).WithName("templates"))
	wait.UntilWithContext(ctx, r.poll, pollInterval)
	return nil
}

// poll reads the directory, and judges the templates if it has changed, or if they were rejected a while ago.
func (r *reloader) poll(ctx context.Context) {
	files, err := render.LoadTree(os.DirFS(r.options.Dir))
	now := directory{files: files, err: fmt.Sprint(err)}
	settled := now.equal(r.read)
	r.read = now
	again := now.equal(r.judged)
	if settled && (!again || r.rejected != "" && !time.Now().Before(r.recheck)) {
		r.update(ctx, again)
		r.judged = now
	}
}

// update puts the templates in the directory into use, if they differ from those in use and pass all checks. again reports that
// they were rejected before.
func (r *reloader) update(ctx context.Context, again bool) {
	tree, err := r.load()
	if err == nil && maps.EqualFunc(tree, r.active, bytes.Equal) {
		if r.rejected != "" {
			log.FromContext(ctx).Info("The rejected change of the templates was undone")
		}
		r.rejected = ""
		reloadSuccessful.Set(1)
		return
	}
	if err == nil {
		err = r.replace(ctx, tree)
	}
	switch {
	case ctx.Err() != nil:
	case err != nil:
		r.reject(ctx, err, again)
	default:
		files := changedFiles(r.active, tree)
		r.active, r.rejected = tree, ""
		reloadSuccessful.Set(1)
		log.FromContext(ctx).Info("Templates reloaded", "changed", files)
		r.events.emit(corev1.EventTypeNormal, "TemplatesReloaded", "Reload", "templates reloaded; changed: "+strings.Join(files, ", "))
	}
}

// load reads the templates.
func (r *reloader) load() (render.Tree, error) {
	if err := r.options.Validate(); err != nil {
		return nil, err
	}
	return r.options.Load()
}

// replace checks the templates of tree and puts them into use.
func (r *reloader) replace(ctx context.Context, tree render.Tree) error {
	memory.Begin(memory.Many)
	defer memory.End(memory.Many)
	renderer, err := r.options.RendererOf(tree)
	if err != nil {
		return err
	}
	found, err := r.check(ctx, renderer)
	if err != nil {
		return err
	}
	return r.reload(ctx, renderer, found)
}

// reject reports that the templates in the directory are not used, unless that was reported before, and puts off the next check,
// longer if they were rejected again for a reason that lasts.
func (r *reloader) reject(ctx context.Context, err error, again bool) {
	if !again || isTransient(err) {
		r.recheckIn = 0
	}
	r.recheckIn = min(max(2*r.recheckIn, minRecheck), maxRecheck)
	r.recheck = time.Now().Add(r.recheckIn)
	reloadSuccessful.Set(0)
	if err.Error() == r.rejected {
		return
	}
	r.rejected = err.Error()
	log.FromContext(ctx).Error(err, "Changed templates rejected; those of before stay in use")
	r.events.emit(corev1.EventTypeWarning, "TemplatesRejected", "Reload", "changed templates rejected; those of before stay in use: "+r.rejected)
}

// changedFiles returns the sorted names of the files that differ.
func changedFiles(before, after render.Tree) []string {
	var names []string
	for name, content := range after {
		if was, existed := before[name]; !existed || !bytes.Equal(was, content) {
			names = append(names, name)
		}
	}
	for name := range before {
		if _, exists := after[name]; !exists {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
