// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
)

const (
	// startTimeout is how long a start waits for an API server that does not answer, or
	// answers with errors of its own, and retryStartAfter how soon it tries again.
	startTimeout    = time.Minute
	retryStartAfter = time.Second
)

// retryStart calls start until it succeeds, fails for good, or startTimeout has passed. It
// logs the first failure that it tries again after, and returns the last one.
func retryStart(ctx context.Context, logger logr.Logger, start func() error) error {
	var failed error
	err := wait.PollUntilContextTimeout(ctx, retryStartAfter, startTimeout, true, func(context.Context) (bool, error) {
		err := start()
		if !isTransient(err) {
			return true, err
		}
		if failed == nil {
			logger.Info("waiting for the API server", "timeout", startTimeout.String(), "why", err.Error())
		}
		failed = err
		return false, nil
	})
	if wait.Interrupted(err) && failed != nil {
		return failed
	}
	return err
}

// isTransient reports whether err may pass by itself: the API server could not be reached, did
// not answer in time, or answered with an error of its own or with what is no answer.
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
	_, unreachable := errors.AsType[*url.Error](err)
	_, undiscovered := errors.AsType[*discovery.ErrGroupDiscoveryFailed](err)
	_, garbage := errors.AsType[*json.SyntaxError](err)
	return unreachable || undiscovered || garbage || errors.Is(err, context.DeadlineExceeded)
}
