// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/plugin/caches"
	"github.com/example/memcached-operator/internal/plugin/forward"
	"github.com/example/memcached-operator/internal/plugin/stats"
)

// defaultTimeout is how long a memcached may take to answer, connecting included.
const defaultTimeout = 2 * time.Second

// connection is the flags of a cluster and of its pods.
type connection struct {
	config  *genericclioptions.ConfigFlags
	timeout time.Duration
}

func newConnection() *connection {
	return &connection{config: genericclioptions.NewConfigFlags(false), timeout: defaultTimeout}
}

// addFlags adds kubectl's flags of a cluster and, unless the command asks no pod, --timeout.
func (c *connection) addFlags(command *cobra.Command, asksPods bool) {
	c.config.AddFlags(command.Flags())
	if asksPods {
		command.Flags().DurationVar(&c.timeout, "timeout", c.timeout, "How long a pod may take to answer, connecting included.")
	}
}

// session is a connection to a cluster.
type session struct {
	*caches.Client
	config *rest.Config
	// namespace is that of --namespace or of the context.
	namespace string
	pool      *stats.Pool
	mu        sync.Mutex
	// accesses are those read so far, by Memcached, so that top does not read the Secrets for each table.
	accesses map[types.UID]access
}

// access is what the memcacheds of a generation require.
type access struct {
	memcached.Access
	generation int64
}

// open connects. The caller closes the session's pool.
func (c *connection) open(dial stats.DialFunc) (*session, error) {
	if c.timeout <= 0 {
		return nil, fmt.Errorf("--timeout: %s is not positive", c.timeout)
	}
	cfg, err := c.config.ToRESTConfig()
	if err != nil {
		return nil, fmt.Errorf("reading the kubeconfig: %w", err)
	}
	namespace, _, err := c.config.ToRawKubeConfigLoader().Namespace()
	if err != nil {
		return nil, fmt.Errorf("reading the namespace of the kubeconfig: %w", err)
	}
	api, err := caches.NewClient(cfg)
	if err != nil {
		return nil, err
	}
	if dial == nil {
		dialer, err := forward.NewDialer(cfg)
		if err != nil {
			return nil, fmt.Errorf("creating an API client: %w", err)
		}
		dial = dialer.Dial
	}
	return &session{Client: api, config: cfg, namespace: namespace, pool: stats.NewPool(dial, c.timeout), accesses: map[types.UID]access{}}, nil
}

// podsOf returns the Memcached called name, or the only one of the namespace, and its pods.
func (s *session) podsOf(ctx context.Context, name string) (*cachev1alpha1.Memcached, []stats.Target, error) {
	mc, err := s.Get(ctx, s.namespace, name)
	if err != nil {
		return nil, nil, err
	}
	targets, err := s.targets(ctx, []cachev1alpha1.Memcached{*mc}, mc.Namespace, mc.Name)
	return mc, targets, err
}

// targets returns the pods of memcacheds, which are those of namespace, or of all if it is empty; with a name it is the
// only one. A Memcached whose Secrets cannot be read has targets with that error.
func (s *session) targets(ctx context.Context, memcacheds []cachev1alpha1.Memcached, namespace, name string) ([]stats.Target, error) {
	pods, err := s.Pods(ctx, namespace, name)
	if err != nil {
		return nil, err
	}
	lists := make([][]stats.Target, len(memcacheds))
	var group sync.WaitGroup
	slots := make(chan struct{}, parallelReads)
	for i := range memcacheds {
		group.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			lists[i] = s.targetsOf(ctx, &memcacheds[i], pods[client.ObjectKeyFromObject(&memcacheds[i])])
		})
	}
	group.Wait()
	var targets []stats.Target
	for _, list := range lists {
		targets = append(targets, list...)
	}
	return targets, nil
}

// parallelReads is how many Memcacheds have their Secrets read at the same time.
const parallelReads = 16

func (s *session) targetsOf(ctx context.Context, mc *cachev1alpha1.Memcached, pods []corev1.Pod) []stats.Target {
	if len(pods) == 0 {
		return nil
	}
	access, err := s.access(ctx, mc)
	var targets []stats.Target
	for i := range pods {
		targets = append(targets, stats.Target{Memcached: mc.Name, Pod: &pods[i], Access: access, Err: err})
	}
	return targets
}

// access returns what the memcacheds of mc require, as read before or from the Secrets.
func (s *session) access(ctx context.Context, mc *cachev1alpha1.Memcached) (memcached.Access, error) {
	s.mu.Lock()
	known, found := s.accesses[mc.UID]
	s.mu.Unlock()
	if found && known.generation == mc.Generation {
		return known.Access, nil
	}
	read, err := s.Access(ctx, mc)
	if err != nil {
		return read, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.accesses[mc.UID] = access{read, mc.Generation}
	return read, nil
}

// forgetFailed makes the Secrets of Memcacheds be read again if a pod of them did not answer: they may have changed.
func (s *session) forgetFailed(memcacheds []cachev1alpha1.Memcached, rows []row) {
	failed := map[client.ObjectKey]bool{}
	for _, r := range rows {
		if r.err != nil {
			failed[client.ObjectKey{Namespace: r.Pod.Namespace, Name: r.Memcached}] = true
		}
	}
	for i := range memcacheds {
		if failed[client.ObjectKeyFromObject(&memcacheds[i])] {
			delete(s.accesses, memcacheds[i].UID)
		}
	}
}

// podProblem returns err as it stands beside a pod: a missing permission is printed in full elsewhere, once.
func podProblem(err error) string {
	if _, missing := errors.AsType[*caches.PermissionError](err); missing {
		return "missing permission"
	}
	return err.Error()
}

// printProblems prints errors, a line each: those that concern more than a pod, and the permissions that are missing for
// pods, whose other errors stand beside them. It returns errIncomplete if there is an error at all.
func (p *program) printProblems(called *cobra.Command, general, ofPods []error) error {
	printed := map[string]bool{}
	for _, err := range slices.Concat(general, stats.Missing(ofPods)) {
		if err != nil && !printed[err.Error()] {
			printed[err.Error()] = true
			p.printError(called, err)
		}
	}
	if errors.Join(slices.Concat(general, ofPods)...) != nil {
		return errIncomplete
	}
	return nil
}
