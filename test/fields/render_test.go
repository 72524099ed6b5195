// SPDX-License-Identifier: Apache-2.0

package fields

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/example/memcached-operator/internal/command"
)

// answers are Memcacheds as JSON, and the API server's messages about them; empty for those that it accepts.
type answers struct {
	mu               sync.Mutex
	bodies, messages []string
}

func (a *answers) add(body []byte, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	message := ""
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		message = sortedCauses(status.Status().Message)
	}
	a.bodies, a.messages = append(a.bodies, string(body)), append(a.messages, message)
}

// compare fails unless `memcached-operator render` rejects the same ones, by the same messages.
func (a *answers) compare(t *testing.T) {
	t.Helper()
	var input strings.Builder
	for i, body := range a.bodies { // no two of a name in one namespace
		input.WriteString(strings.Replace(body, `"namespace":"`, fmt.Sprintf(`"namespace":"n%d-`, i), 1) + "\n")
	}
	var errs bytes.Buffer
	code := command.Run(t.Context(), []string{"render", "-f", "-", "--allow-privileged-fields"}, command.Streams{
		In: strings.NewReader(input.String()), Out: &bytes.Buffer{}, Err: &errs, Getenv: func(string) string { return "" },
	})
	messages := map[int]string{}
	for line := range strings.Lines(errs.String()) {
		var document int
		text := strings.TrimPrefix(line, "memcached-operator render: standard input: document ")
		number, message, _ := strings.Cut(text, ": ")
		if _, err := fmt.Sscan(number, &document); err == nil && !strings.Contains(message, "cannot be rendered: ") {
			messages[document] = sortedCauses(strings.TrimSuffix(message, "\n"))
		}
	}
	if code != 1 || len(a.bodies) < 1000 {
		t.Errorf("render exits with %d after %d Memcacheds", code, len(a.bodies))
	}
	for i, want := range a.messages {
		if got := messages[i+1]; got != want {
			t.Errorf("render says\n%s\nthe API server says\n%s\nof %.300s", got, want, a.bodies[i])
		}
	}
}

// sortedCauses returns message with the causes of "is invalid: [a, b]" in order: the API server's order is random.
func sortedCauses(message string) string {
	head, causes, found := strings.Cut(message, " is invalid: [")
	if !found {
		return message
	}
	parts := strings.Split(strings.TrimSuffix(causes, "]"), ", ")
	slices.Sort(parts)
	return head + " is invalid: [" + strings.Join(parts, ", ") + "]"
}
