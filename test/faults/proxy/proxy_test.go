// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"

	"github.com/example/memcached-operator/test/testenv"
)

const (
	pods        = "/api/v1/namespaces/a/pods"
	deployments = "/apis/apps/v1/namespaces/a/deployments"
)

// start starts a proxy to a server that answers every request with its query, and every watch
// with the frames sent to events.
func start(t *testing.T) (*Proxy, *http.Client, chan<- string) {
	t.Helper()
	events := make(chan string, 10)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("watch") != "true" {
			fmt.Fprintf(w, `{"query": %q, "accept": %q, "padding": %q}`, r.URL.RawQuery, r.Header.Get("Accept"), strings.Repeat("x", 10000))
			return
		}
		for {
			_ = http.NewResponseController(w).Flush()
			select {
			case event := <-events:
				fmt.Fprintln(w, event)
			case <-r.Context().Done():
				return
			}
		}
	}))
	t.Cleanup(server.CloseClientConnections)
	p := Start(t, &rest.Config{Host: server.URL})
	client, err := rest.HTTPClientFor(p.Config())
	testenv.NoError(t, err)
	return p, client, events
}

// send sends a request and returns the answer; err is what a client meets.
func send(t *testing.T, p *Proxy, client *http.Client, method, path string) (status int, body string, err error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, p.Config().Host+path, http.NoBody)
	testenv.NoError(t, err)
	request.Header.Set("Accept", "application/vnd.kubernetes.protobuf,application/json")
	response, err := client.Do(request)
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	return response.StatusCode, string(content), err
}

func TestProxy_RecordsRequests(t *testing.T) {
	t.Parallel()
	p, client, _ := start(t)
	for _, request := range [][2]string{{"GET", "/apis"}, {"GET", pods + "?limit=5"}, {"PATCH", deployments + "/x/status"}, {"DELETE", pods + "/x"}} {
		if _, _, err := send(t, p, client, request[0], request[1]); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	for _, r := range p.Requests(func(*Request) bool { return true }) {
		got = append(got, fmt.Sprintf("%s %d %v", r.String(), r.Status, r.IsWrite()))
	}
	want := "get /apis 200 false, list pods a 200 false, patch deployments/status a/x 200 true, delete pods a/x 200 true"
	if text := strings.Join(got, ", "); text != want {
		t.Errorf("recorded %s, want %s", text, want)
	}
}

func TestProxy_InjectsFaults(t *testing.T) {
	t.Parallel()
	p, client, _ := start(t)
	for fault, want := range map[Fault]func(status int, body string, err error) bool{
		None: func(status int, body string, _ error) bool {
			return status == 200 && strings.Contains(body, `"accept": "application/json"`)
		},
		TooManyRequests: func(status int, _ string, _ error) bool { return status == 429 },
		InternalError:   func(status int, _ string, _ error) bool { return status == 500 },
		Unavailable:     func(status int, _ string, _ error) bool { return status == 503 },
		HTML: func(status int, body string, _ error) bool {
			return status == 200 && strings.HasPrefix(body, "<!DOCTYPE")
		},
		Garbage:  func(status int, body string, _ error) bool { return status == 200 && strings.Contains(body, "?") },
		HalfBody: func(status int, body string, err error) bool { return status == 200 && body != "" && err != nil },
		ResetBefore: func(_ int, _ string, err error) bool {
			return errors.Is(err, syscall.ECONNRESET) || errors.Is(err, io.EOF)
		},
		ResetAfter: func(_ int, _ string, err error) bool {
			return errors.Is(err, syscall.ECONNRESET) || errors.Is(err, io.EOF)
		},
		Hang: func(_ int, _ string, err error) bool { return errors.Is(err, context.DeadlineExceeded) },
	} {
		p.Fail(func(*Request) Fault { return fault })
		if status, body, err := send(t, p, client, "POST", pods); !want(status, body, err) {
			t.Errorf("%s: status %d, error %v, %.100s", fault, status, err, body)
		}
	}
	p.Fail(nil)
	p.Interrupt()
	if _, _, err := send(t, p, client, "GET", pods); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("interrupted: %v", err)
	}
	testenv.NoError(t, p.Resume(t.Context()))
	if _, _, err := send(t, p, client, "GET", pods); err != nil {
		t.Errorf("resumed: %v", err)
	}
}

func TestProxy_HooksDecideAboutWrites(t *testing.T) {
	t.Parallel()
	p, client, _ := start(t)
	before, after := 0, 0
	p.SetHooks(Hooks{Before: func(*Request) bool { before++; return before == 1 }, After: func(*Request) { after++ }})
	_, _, errRead := send(t, p, client, "GET", pods)
	_, _, errFirst := send(t, p, client, "POST", pods)
	_, _, errSecond := send(t, p, client, "POST", pods)
	if errRead != nil || errFirst != nil || errSecond == nil || before != 2 || after != 1 {
		t.Errorf("errors %v, %v, %v; called %d times before, %d times after", errRead, errFirst, errSecond, before, after)
	}
}

func TestProxy_ListsAsOfAVersion(t *testing.T) {
	t.Parallel()
	p, client, _ := start(t)
	p.FreezeAt("42", "pods")
	if _, body, err := send(t, p, client, "GET", pods+"?limit=5&resourceVersion=0"); err != nil || !strings.Contains(body, "resourceVersion=42&resourceVersionMatch=Exact") {
		t.Errorf("got %.200s, %v", body, err)
	}
	if status, _, err := send(t, p, client, "GET", pods+"?watch=true&sendInitialEvents=true"); err != nil || status != http.StatusUnprocessableEntity {
		t.Errorf("a list by watch: %d, %v", status, err)
	}
	p.Thaw()
	if _, body, err := send(t, p, client, "GET", pods+"?limit=5"); err != nil || strings.Contains(body, "Exact") {
		t.Errorf("after thawing: %.200s, %v", body, err)
	}
}

func TestProxy_FreezesHidesAndExpiresWatches(t *testing.T) {
	t.Parallel()
	p, client, events := start(t)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.Config().Host+pods+"?watch=true", nil)
	testenv.NoError(t, err)
	response, err := client.Do(request)
	testenv.NoError(t, err)
	defer response.Body.Close()
	reader := bufio.NewReader(response.Body)
	next := func(want string) {
		t.Helper()
		if line, err := reader.ReadString('\n'); err != nil || !strings.Contains(line, want) {
			t.Fatalf("got %q, %v, want %s", line, err, want)
		}
	}
	event := func(kind, name string) string {
		return fmt.Sprintf(`{"type":%q,"object":{"metadata":{"name":%q,"namespace":"a"}}}`, kind, name)
	}
	events <- event("ADDED", "one")
	next("one")
	p.Hide(func(e Event) bool { return e.Type == "MODIFIED" && e.Object.Name == "one" && e.Resource == "pods" })
	events <- event("MODIFIED", "one")
	events <- event("ADDED", "two")
	next("two")
	p.Freeze("pods")
	events <- event("ADDED", "three")
	err = wait.PollUntilContextTimeout(t.Context(), time.Millisecond, 5*time.Second, true, func(context.Context) (bool, error) { return p.Holds("pods"), nil })
	if err != nil {
		t.Fatal("nothing is held")
	}
	p.Thaw()
	next("three")
	p.Expire("pods")
	next("Expired")
}
