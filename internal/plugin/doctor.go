// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"archive/tar"
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/internal/diff"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/plugin/caches"
	"github.com/example/memcached-operator/internal/plugin/stats"
)

const doctorLong = `Doctor writes a support bundle, an archive for troubleshooting without access to the cluster: the Memcached, its objects and pods,
their events, the output of status, memcached's statistics and logs, and the Deployment and logs of the operator.

It contains no Secrets and no values of the cache, and keys only where spec.verbosity is 2 or more, in memcached's log. It does contain
the fields of the Memcached, and lines of the operator's log about other Memcacheds. What cannot be read is left out and listed in the archive, in errors.txt.

It needs the permissions of status, and to get the objects, pods/log and, in the operator's namespace, pods and pods/log; to list
events; and to list Deployments in all namespaces, to find the operator.

Exit codes:
  0  the archive is complete
  1  the archive is written and lacks what is in errors.txt
  2  a flag is wrong, or the Memcached cannot be read; no archive is written`

const doctorExample = `  kubectl memcached doctor cache
  kubectl memcached doctor cache -f - | ssh support 'cat > cache.tar.gz'`

var (
	podKind        = corev1.SchemeGroupVersion.WithKind("Pod")
	deploymentKind = appsv1.SchemeGroupVersion.WithKind("Deployment")
)

func (p *program) newDoctorCommand() *cobra.Command {
	connection, file := newConnection(), ""
	cmd := &cobra.Command{
		Use:               "doctor [NAME]",
		Short:             "Write a support bundle",
		Long:              doctorLong,
		Example:           doctorExample,
		Args:              atMost(1),
		ValidArgsFunction: p.completeNames(connection, 0),
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.doctor(cmd, connection, file, strings.Join(args, ""))
		},
	}
	connection.addFlags(cmd, true)
	p.completeFlags(cmd, connection)
	cmd.Flags().StringVarP(&file, "filename", "f", "", "File of the archive; - is standard output. Defaults to NAMESPACE-NAME-TIME.tar.gz.")
	return cmd
}

func (p *program) doctor(cmd *cobra.Command, connection *connection, file, name string) error {
	ctx := cmd.Context()
	s, err := connection.open(p.dial)
	if err != nil {
		return err
	}
	defer s.pool.Close()
	mc, err := s.Get(ctx, s.namespace, name)
	if err != nil {
		return err
	}
	now := time.Now().UTC()
	r := report{at: now, directory: fmt.Sprintf("%s-%s-%s", mc.Namespace, mc.Name, now.Format("20060102T150405Z")), files: map[string][]byte{}}
	if err := s.examine(ctx, &r, mc); err != nil {
		return err
	}
	s.examineOperator(ctx, &r, mc.Namespace)
	file = cmp.Or(file, r.directory+".tar.gz")
	if err := r.save(file, p.streams.Out); err != nil {
		return err
	}
	if file != "-" {
		if _, err := fmt.Fprintln(p.streams.Out, file); err != nil {
			return err
		}
	}
	return p.printProblems(cmd, r.errs, nil)
}

// examine adds what there is of mc.
func (s *session) examine(ctx context.Context, r *report, mc *cachev1alpha1.Memcached) error {
	view, errs, err := s.look(ctx, mc, time.Second)
	if err != nil {
		return err
	}
	r.errs = append(r.errs, errs...)
	var text bytes.Buffer
	err = view.write(&text)
	r.add("status.txt", text.Bytes(), err)
	r.addObject(ctx, s, cachev1alpha1.MemcachedKind, mc.Namespace, mc.Name)
	for _, object := range view.objects {
		if object.Kind != "Secret" {
			r.addObject(ctx, s, object.GroupVersionKind(), mc.Namespace, object.Name)
		}
		if object.GroupVersionKind() == deploymentKind {
			r.addPods(ctx, s, mc.Namespace, object.Name)
		}
	}
	targets := make([]stats.Target, len(view.rows))
	for i, row := range view.rows {
		targets[i] = row.Target
	}
	kinds := []string{"", "settings", "items", "slabs"}
	texts := make([]bytes.Buffer, len(targets))
	errsStats := s.pool.Each(ctx, targets, func(i int, client *memcached.Client) error { return writeStats(&texts[i], client, kinds) })
	for i, target := range targets {
		r.add("pods/"+target.Pod.Name+"-stats.txt", texts[i].Bytes(), errsStats[i])
	}
	events, err := s.Events(ctx, mc)
	r.add("events.txt", eventTable(events), err)
	return ctx.Err()
}

// examineOperator adds what there is of the operator for namespace.
func (s *session) examineOperator(ctx context.Context, r *report, namespace string) {
	operator, err := diff.FindOperator(ctx, s.config, namespace, "")
	if err == nil && operator == nil {
		err = errors.New("there is no operator in the cluster for this namespace")
	}
	if err != nil {
		r.errs = append(r.errs, fmt.Errorf("finding the operator: %w", err))
		return
	}
	r.addObject(ctx, s, deploymentKind, operator.Namespace, operator.Name)
	r.addPods(ctx, s, operator.Namespace, operator.Name)
}

// writeStats writes memcached's statistics of kinds, of which "" is the general ones.
func writeStats(out io.Writer, client *memcached.Client, kinds []string) error {
	for _, kind := range kinds {
		answer, err := client.Stats(strings.Fields(kind)...)
		if err != nil {
			return err
		}
		for _, name := range slices.Sorted(maps.Keys(answer)) {
			_, _ = fmt.Fprintf(out, "%s %s %s\n", cmp.Or(kind, "general"), name, answer[name])
		}
	}
	return nil
}

// eventTable returns events, a line each, the latest last.
func eventTable(events []corev1.Event) []byte {
	lines := table{head: []string{"LAST SEEN", "COUNT", "TYPE", "REASON", "OBJECT", "MESSAGE"}}
	for _, event := range events {
		object := event.InvolvedObject.Kind + "/" + event.InvolvedObject.Name
		lines.add(caches.LastSeen(event).UTC().Format(time.RFC3339), fmt.Sprint(max(event.Count, 1)), event.Type, event.Reason, object, event.Message)
	}
	var text bytes.Buffer
	_ = lines.write(&text) // a buffer takes it
	return text.Bytes()
}

// report is the files of an archive, and what is missing.
type report struct {
	at        time.Time
	directory string
	files     map[string][]byte
	errs      []error
}

// add adds a file, unless there is an error.
func (r *report) add(name string, content []byte, err error) {
	if err != nil {
		r.errs = append(r.errs, fmt.Errorf("%s: %w", name, err))
		return
	}
	r.files[name] = content
}

// addObject adds an object as YAML.
func (r *report) addObject(ctx context.Context, s *session, kind schema.GroupVersionKind, namespace, name string) {
	object, err := s.Object(ctx, kind, namespace, name)
	var content []byte
	if err == nil {
		content, err = yaml.Marshal(object)
	}
	r.add(path.Join("objects", namespace, kind.Kind+"-"+name+".yaml"), content, err)
}

// addPods adds the pods of a Deployment and their logs, also of those that have ended.
func (r *report) addPods(ctx context.Context, s *session, namespace, deployment string) {
	pods, err := s.PodsOf(ctx, namespace, deployment)
	if err != nil {
		r.errs = append(r.errs, err)
	}
	for i := range pods {
		r.addObject(ctx, s, podKind, pods[i].Namespace, pods[i].Name)
		r.addLogs(ctx, s, &pods[i])
	}
}

// addLogs adds the logs of the containers of pod, and of those before a restart.
func (r *report) addLogs(ctx context.Context, s *session, pod *corev1.Pod) {
	for _, status := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		if status.State.Waiting == nil {
			content, err := s.Log(ctx, pod, status.Name, false)
			r.add("pods/"+pod.Name+"-"+status.Name+".log", content, err)
		}
		if status.LastTerminationState.Terminated != nil {
			content, err := s.Log(ctx, pod, status.Name, true)
			r.add("pods/"+pod.Name+"-"+status.Name+"-previous.log", content, err)
		}
	}
}

// save writes the archive to a file, or to standard output if it is -.
func (r *report) save(file string, standard io.Writer) error {
	if missing := errors.Join(r.errs...); missing != nil {
		r.files["errors.txt"] = []byte(missing.Error() + "\n")
	}
	content, err := r.archive()
	if err != nil {
		return err
	}
	if file == "-" {
		_, err = standard.Write(content)
		return err
	}
	return os.WriteFile(file, content, 0o600)
}

// archive returns the files as a tar archive, compressed by gzip.
func (r *report) archive() ([]byte, error) {
	var content bytes.Buffer
	compressed := gzip.NewWriter(&content)
	archive := tar.NewWriter(compressed)
	for _, name := range slices.Sorted(maps.Keys(r.files)) {
		header := &tar.Header{Name: r.directory + "/" + name, Mode: 0o644, Size: int64(len(r.files[name])), ModTime: r.at}
		if err := archive.WriteHeader(header); err != nil {
			return nil, err
		}
		if _, err := archive.Write(r.files[name]); err != nil {
			return nil, err
		}
	}
	err := errors.Join(archive.Close(), compressed.Close())
	return content.Bytes(), err
}
