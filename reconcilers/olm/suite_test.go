// SPDX-License-Identifier: Apache-2.0

package olm

import (
	"context"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	apiv2 "github.com/operator-framework/api/pkg/operators/v2"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/client-go/rest"
	testingclock "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/example/memcached-operator/reconcilers"
	"github.com/example/memcached-operator/test/controlplane"
	"github.com/example/memcached-operator/test/testenv"
)

// conditionName is the name of the OperatorCondition in each test's namespace.
const conditionName = "memcached-operator.v0.0.1"

// suite has the CRD of OperatorConditions.
var suite env

// env is a control plane with the operator's identity.
type env struct{ testenv.Env }

func TestMain(m *testing.M) {
	os.Exit(testenv.Main(m, &suite.Env, testenv.Setup{Identity: true, Prepare: suite.prepare}))
}

func (e *env) prepare(ctx context.Context) error {
	if err := e.addToScheme(); err != nil {
		return err
	}
	return e.installOLM(ctx)
}

func (e *env) addToScheme() error {
	if err := apiv2.AddToScheme(e.Client.Scheme()); err != nil {
		return err
	}
	return apiextensionsv1.AddToScheme(e.Client.Scheme())
}

// operator is the OperatorConditionReconciler of a namespace, in the test's process.
type operator struct {
	*env
	namespace string
	// lease is the name of the lease that it needs, if any.
	lease string
	// now is its clock unless it is nil.
	now func() time.Time

	testenv.Recorder
	logs testenv.Log
}

// setClock gives o a clock that stands still at a whole second, since conditions have no fractions.
func (o *operator) setClock() *testingclock.FakeClock {
	clock := testingclock.NewFakeClock(time.Now().Truncate(time.Second))
	o.now = clock.Now
	return clock
}

// start starts o and returns the function that stops it.
func (o *operator) start(t *testing.T) (stop func()) {
	t.Helper()
	cfg := rest.CopyConfig(o.Operator)
	cfg.Wrap(o.Wrap)
	cacheOptions, err := reconcilers.CacheOptions([]string{o.namespace})
	testenv.NoError(t, err)
	options := ctrl.Options{
		Scheme:     o.Client.Scheme(),
		Cache:      cacheOptions,
		Metrics:    metricsserver.Options{BindAddress: "0"},
		Controller: config.Controller{SkipNameValidation: new(true)},
		Logger:     o.logs.Logger(),
	}
	if o.lease != "" {
		options.LeaderElection, options.LeaderElectionID, options.LeaderElectionNamespace = true, o.lease, controlplane.OperatorNamespace
	}
	mgr, err := ctrl.NewManager(cfg, options)
	testenv.NoError(t, err)
	r, err := New(mgr, client.ObjectKey{Namespace: o.namespace, Name: conditionName})
	testenv.NoError(t, err)
	if o.now != nil {
		r.now = o.now
	}
	testenv.NoError(t, r.SetupWithManager(mgr))
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- mgr.Start(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("the operator stopped with: %v", err)
		}
	})
	t.Cleanup(stop)
	return stop
}

// startMemcacheds starts a reconciler of the Memcacheds in o's namespace.
func (o *operator) startMemcacheds(t *testing.T) {
	t.Helper()
	_, err := o.StartManager(t.Context(), testenv.ManagerOptions{Namespaces: []string{o.namespace}})
	testenv.NoError(t, err)
}

// requests returns the requests of a method for the OperatorCondition.
func (o *operator) requests(method string) []testenv.Request {
	return o.Matching(method, "operators.coreos.com")
}

// logged returns the lines about OLM, and those of errors.
func (o *operator) logged() []string {
	return slices.DeleteFunc(slices.Collect(strings.Lines(o.logs.String())), func(line string) bool {
		return !strings.Contains(line, "OperatorCondition") && !strings.Contains(line, "OLM") && !strings.Contains(line, "error")
	})
}
