// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr/funcr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var (
	errRefused   = &url.Error{Op: "Get", URL: "https://server/", Err: syscall.ECONNREFUSED}
	errForbidden = apierrors.NewForbidden(schema.GroupResource{Resource: "memcacheds"}, "", errors.New("no"))
)

func TestIsTransient_Errors(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		err  error
		want bool
	}{
		"success":                        {nil, false},
		"no connection":                  {fmt.Errorf("asking: %w", errRefused), true},
		"no answer in time":              {context.DeadlineExceeded, true},
		"a reset while a body is read":   {fmt.Errorf("unexpected error when reading response body: %w", &net.OpError{Op: "read", Err: syscall.ECONNRESET}), true},
		"half a body":                    {fmt.Errorf("unexpected error when reading response body: %w", io.ErrUnexpectedEOF), true},
		"too many requests":              {apierrors.NewTooManyRequests("wait", 1), true},
		"an error of the server":         {apierrors.NewInternalError(errors.New("etcd")), true},
		"not available":                  {apierrors.NewServiceUnavailable("starting"), true},
		"an answer that is no JSON":      {fmt.Errorf("reading: %w", &json.SyntaxError{}), true},
		"no permission":                  {fmt.Errorf("asking: %w", errForbidden), false},
		"no credentials":                 {apierrors.NewUnauthorized("no"), false},
		"not found":                      {apierrors.NewNotFound(schema.GroupResource{}, "a"), false},
		"a certificate of another":       {&url.Error{Op: "Get", URL: "https://server/", Err: &tls.CertificateVerificationError{Err: errors.New("unknown authority")}}, false},
		"a mistake in the templates":     {errors.New("templates: base/deployment.yaml"), false},
		"the process is to be stopped":   {context.Canceled, false},
		"a mistake beside a lost answer": {errors.Join(errors.New("a"), errRefused), true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := isTransient(test.err); got != test.want {
				t.Errorf("isTransient(%v) is %v, want %v", test.err, got, test.want)
			}
		})
	}
}

func TestRetryStart_RetriesTransientErrors(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		// answers are those of the attempts; the last one is repeated.
		answers []error
		stopped time.Duration
		want    error
		took    time.Duration
		lines   int
	}{
		"the first attempt succeeds":            {answers: []error{nil}},
		"the server comes after two attempts":   {answers: []error{errRefused, context.DeadlineExceeded, nil}, took: 2 * retryStartAfter, lines: 1},
		"a failure for good ends it at once":    {answers: []error{errForbidden}, want: errForbidden},
		"a failure for good after the server":   {answers: []error{errRefused, errForbidden}, want: errForbidden, took: retryStartAfter, lines: 1},
		"the server never comes":                {answers: []error{errRefused}, want: errRefused, took: startTimeout, lines: 1},
		"the process is stopped while it waits": {answers: []error{errRefused}, stopped: 5*time.Second + time.Millisecond, want: errRefused, took: 5*time.Second + time.Millisecond, lines: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var lines []string
				logger := funcr.New(func(_, line string) { lines = append(lines, line) }, funcr.Options{})
				ctx := t.Context()
				if test.stopped > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, test.stopped)
					defer cancel()
				}
				began, attempts := time.Now(), 0
				err := retryStart(ctx, logger, func() error {
					attempts++
					return test.answers[min(attempts, len(test.answers))-1]
				})
				if !errors.Is(err, test.want) || (err == nil) != (test.want == nil) {
					t.Errorf("error %v, want %v", err, test.want)
				}
				if took := time.Since(began); took != test.took {
					t.Errorf("it took %s, want %s", took, test.took)
				}
				if len(lines) != test.lines {
					t.Errorf("logged\n%s\nwant %d lines", strings.Join(lines, "\n"), test.lines)
				}
			})
		})
	}
}
