// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"crypto/tls"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Fault is what the proxy does to a request instead of passing it or its answer on.
type Fault string

// The faults. None is the zero value.
const (
	None Fault = ""
	// TooManyRequests answers 429 with Retry-After.
	TooManyRequests Fault = "429"
	InternalError   Fault = "500"
	Unavailable     Fault = "503"
	// HTML answers 200 with an HTML page, as a login page in between does.
	HTML Fault = "HTML"
	// HalfBody breaks the connection in the middle of the answer.
	HalfBody Fault = "half body"
	// Hang never answers; it ends when the client gives up or Fail is called.
	Hang Fault = "hang"
	// ResetBefore resets the connection and does not forward the request, ResetAfter resets it
	// when the API server has answered.
	ResetBefore Fault = "reset before"
	ResetAfter  Fault = "reset after"
	// Garbage answers 200 with JSON of nothing known.
	Garbage Fault = "garbage"
)

// StormFaults are the faults of a storm.
var StormFaults = []Fault{TooManyRequests, InternalError, Unavailable, HTML, HalfBody, Hang, ResetBefore, ResetAfter}

const page = "<!DOCTYPE html><html><head><title>Sign in</title></head><body>Sign in to continue</body></html>\n"

// Fail makes the requests fail for which fault returns one; nil ends that. Requests that hang
// since an earlier call are reset.
func (p *Proxy) Fail(fault func(*Request) Fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fail = fault
	close(p.calm)
	p.calm = make(chan struct{})
}

// Storm returns a function for Fail that lets a share of the requests fail, by faults that
// follow from seed and the order of the requests.
func Storm(seed uint64, share float64) func(*Request) Fault {
	random := rand.New(rand.NewPCG(seed, seed))
	return func(*Request) Fault {
		if random.Float64() >= share {
			return None
		}
		return StormFaults[random.IntN(len(StormFaults))]
	}
}

// refuse answers a request that is not forwarded, and reports whether that is so.
func (p *Proxy) refuse(w http.ResponseWriter, r *http.Request, request *Request, fault Fault) bool {
	switch fault {
	case TooManyRequests:
		w.Header().Set("Retry-After", "1")
		fail(w, http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests)
	case InternalError:
		fail(w, http.StatusInternalServerError, metav1.StatusReasonInternalError)
	case Unavailable:
		fail(w, http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable)
	case HTML:
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		// The client may be gone.
		_, _ = w.Write([]byte(page))
	case Garbage:
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"kind": 7, "metadata": ["?"], "spec": "` + "\x00" + `"}`))
	case Hang:
		p.hang(w, r)
	case ResetBefore:
		reset(w)
	case HalfBody:
		if request.Verb != "watch" {
			return false // There is an answer to cut first.
		}
		halve(w, http.StatusOK, "application/json", []byte(`{"type":"ADDED","object":{"metadata":{"name":"x"}}}`))
	case ResetAfter:
		if request.Verb != "watch" {
			return false
		}
		reset(w)
	case None:
		return false
	}
	return true
}

// hang keeps the client waiting.
func (p *Proxy) hang(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	calm := p.calm
	p.mu.Unlock()
	select {
	case <-r.Context().Done():
	case <-calm:
	}
	reset(w)
}

// fail answers with a Status, as the API server does.
func fail(w http.ResponseWriter, code int32, reason metav1.StatusReason) {
	status := metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"},
		Status:   metav1.StatusFailure, Reason: reason, Code: code,
		Message: fmt.Sprintf("injected fault %d", code),
	}
	content, err := json.Marshal(status)
	if err != nil {
		panic(err) // A Status can always be encoded.
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(int(code))
	// The client may be gone.
	_, _ = w.Write(content)
}

// reset closes the client's connection by a TCP reset.
func reset(w http.ResponseWriter) {
	controller := http.NewResponseController(w)
	connection, _, err := controller.Hijack()
	if err != nil {
		return // It is closed already.
	}
	if secure, ok := connection.(*tls.Conn); ok {
		connection = secure.NetConn()
	}
	if tcp, ok := connection.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // Without it, the connection ends less abruptly.
	}
	_ = connection.Close() // The client may be gone.
}

// halve sends an answer as long as content, and breaks the connection after half of it.
func halve(w http.ResponseWriter, status int, contentType string, content []byte) {
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("Content-Length", fmt.Sprint(len(content)))
	w.WriteHeader(status)
	// The client may be gone.
	_, _ = w.Write(content[:len(content)/2])
	_ = http.NewResponseController(w).Flush()
	reset(w)
}
