// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
)

const (
	// startTimeout bounds the time for which the start waits for an API server that does not respond or
	// responds with server errors, and retryStartAfter is the interval of the attempts.
	startTimeout    = time.Minute
	retryStartAfter = time.Second
)

// retryStart calls step, a part of the start, until it succeeds, returns an error that is not transient, or startTimeout has
// passed. It logs the first transient error and returns the last one from before the end of ctx.
func retryStart(ctx context.Context, logger logr.Logger, step func() error) error {
	var failed error
	err := wait.PollUntilContextTimeout(ctx, retryStartAfter, startTimeout, true, func(context.Context) (bool, error) {
		err := step()
		if !isTransient(err) {
			return true, err
		}
		if failed == nil {
			logger.Info("Waiting for the API server", "timeout", startTimeout.String(), "error", err.Error())
		}
		if failed == nil || ctx.Err() == nil { // The end of ctx ends a request, and says nothing of why it took so long.
			failed = err
		}
		return false, nil
	})
	if wait.Interrupted(err) && failed != nil {
		return failed
	}
	return err
}

// isTransient reports whether a retry may succeed after err: the API server could not be reached, did not respond
// in time, or responded with a server error or with invalid JSON.
func isTransient(err error) bool {
	if err == nil {
		return false
	}
	if status, ok := errors.AsType[*apierrors.StatusError](err); ok {
		code := status.Status().Code
		return code == http.StatusTooManyRequests || code >= http.StatusInternalServerError
	}
	if _, untrusted := errors.AsType[*tls.CertificateVerificationError](err); untrusted {
		return false
	}
	// A *url.Error is one too; another may come while the body of a response is read.
	_, unreachable := errors.AsType[net.Error](err)
	_, undiscovered := errors.AsType[*discovery.ErrGroupDiscoveryFailed](err)
	_, garbage := errors.AsType[*json.SyntaxError](err)
	return unreachable || undiscovered || garbage || errors.Is(err, io.ErrUnexpectedEOF)
}
