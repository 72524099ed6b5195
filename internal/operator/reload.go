// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/example/memcached-operator/internal/memory"
	"github.com/example/memcached-operator/internal/templates"
	"github.com/example/memcached-operator/reconcilers/preflight"
	"github.com/example/memcached-operator/reconcilers/render"
)

const (
	// settleTime is how long no file may change before the templates are read: a program may write several. They are read
	// after maxSettleTime at the latest.
	settleTime    = 200 * time.Millisecond
	maxSettleTime = 2 * time.Second
	// pollInterval is the interval at which the templates are read without a notification. Some file systems give
	// none, nor does a change of a symbolic link above the directory.
	pollInterval = 30 * time.Second
	// Rejected templates are checked again, since the API server may have been the reason: missing permissions, a missing
	// kind, a policy. Each check takes a dry-run of every object, so the delay doubles from pollInterval to maxRecheck.
	maxRecheck = 10 * time.Minute
	// maxNesting bounds the nesting of directories, as LoadTree does.
	maxNesting = 16
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
	// rejected is why the templates in the directory are not in use; empty if they are.
	rejected string
	// refused are the templates that were rejected, which are checked again after recheck; nil if they could not be read.
	refused   render.Tree
	recheck   time.Time
	recheckIn time.Duration
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
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		log.FromContext(ctx).Info("Changed templates are found by reading them", "interval", pollInterval.String(), "reason", err.Error())
		watcher = &fsnotify.Watcher{} // Its channels are nil and never ready.
	} else {
		defer func() { _ = watcher.Close() }()
	}
	r.watch(ctx, watcher)
	timer := time.NewTimer(0) // A file may have changed since the start.
	defer timer.Stop()
	var changed time.Time // the first change that was not read; zero if there is none
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-watcher.Events:
		case err := <-watcher.Errors:
			log.FromContext(ctx).V(1).Info("Notifications of changed templates were lost", "error", err.Error())
		case <-timer.C:
			r.watch(ctx, watcher)
			r.update(ctx)
			changed = time.Time{}
			timer.Reset(pollInterval)
			continue
		}
		if changed.IsZero() {
			changed = time.Now()
		}
		if time.Since(changed) < maxSettleTime {
			timer.Reset(settleTime)
		}
	}
}

// watch watches options.Dir and the directories below those that are read, as far as that is possible.
func (r *reloader) watch(ctx context.Context, watcher *fsnotify.Watcher) {
	if watcher.Events == nil {
		return
	}
	err := watcher.Add(r.options.Dir)
	for _, name := range []string{"base", "components"} {
		if name := filepath.Join(r.options.Dir, name); isDir(name) {
			err = errors.Join(err, watchBelow(watcher, name, 0))
		}
	}
	if err != nil {
		log.FromContext(ctx).V(1).Info("Watching the templates failed; reading them at intervals", "interval", pollInterval.String(), "error", err.Error())
	}
}

// watchBelow watches dir and the directories below it, also by symbolic links, except for those whose name begins with
// "..", which the kubelet makes in the volume of a ConfigMap.
func watchBelow(watcher *fsnotify.Watcher, dir string, depth int) error {
	if err := watcher.Add(dir); err != nil || depth == maxNesting {
		return err
	}
	entries, err := os.ReadDir(dir)
	errs := []error{err}
	for _, entry := range entries {
		if name := filepath.Join(dir, entry.Name()); !strings.HasPrefix(entry.Name(), "..") && isDir(name) {
			errs = append(errs, watchBelow(watcher, name, depth+1))
		}
	}
	return errors.Join(errs...)
}

// isDir reports whether name is a directory, or a symbolic link to one.
func isDir(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.IsDir()
}

// update puts the templates in the directory into use, if they differ from those in use and pass all checks.
func (r *reloader) update(ctx context.Context) {
	tree, err := r.load()
	if err == nil && maps.EqualFunc(tree, r.active, bytes.Equal) {
		if r.rejected != "" {
			log.FromContext(ctx).Info("The rejected change of the templates was undone")
		}
		r.refused, r.rejected = nil, ""
		reloadSuccessful.Set(1)
		return
	}
	if err == nil {
		known := r.refused != nil && maps.EqualFunc(tree, r.refused, bytes.Equal)
		if known && time.Now().Before(r.recheck) {
			return
		}
		err = r.replace(ctx, tree)
		r.refuse(tree, known && !isTransient(err))
	}
	switch {
	case ctx.Err() != nil:
	case err != nil:
		r.reject(ctx, err)
	default:
		files := changedFiles(r.active, tree)
		r.active, r.refused, r.rejected = tree, nil, ""
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
	memory.Begin()
	defer memory.End()
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

// refuse puts off the next check of tree, longer if it was rejected again.
func (r *reloader) refuse(tree render.Tree, again bool) {
	if !again {
		r.recheckIn = 0
	}
	r.recheckIn = min(max(2*r.recheckIn, pollInterval), maxRecheck)
	r.refused, r.recheck = tree, time.Now().Add(r.recheckIn)
}

// reject reports that the templates in the directory are not used, unless that was reported before.
func (r *reloader) reject(ctx context.Context, err error) {
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
