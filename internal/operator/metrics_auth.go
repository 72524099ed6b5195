// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/go-logr/logr"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	authenticationclient "k8s.io/client-go/kubernetes/typed/authentication/v1"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"
	"k8s.io/client-go/rest"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

const (
	// reviewTimeout bounds the duration of the reviews of one request.
	reviewTimeout = 10 * time.Second
	// maxReviews bounds the number of concurrent reviews. Every client that can reach the metrics port
	// causes reviews, which must not delay the operator's own requests.
	maxReviews = 4
)

// reviewer authenticates and authorizes requests for metrics with the API server.
//
// controller-runtime's filter responds to a malformed token with 500 and logs an error, so that any client can
// fill the log, and it depends on k8s.io/apiserver. This one does not cache reviews, so that a revoked
// permission takes effect at once; a scrape costs two requests.
type reviewer struct {
	authentication authenticationclient.TokenReviewInterface
	authorization  authorizationclient.SubjectAccessReviewInterface
	slots          chan struct{}
}

// reviewed is a FilterProvider of a metrics server. Its filter passes requests with a bearer token whose user is
// allowed to get the path.
func reviewed(config *rest.Config, httpClient *http.Client) (metricsserver.Filter, error) {
	authentication, err := authenticationclient.NewForConfigAndClient(config, httpClient)
	if err != nil {
		return nil, err
	}
	authorization, err := authorizationclient.NewForConfigAndClient(config, httpClient)
	if err != nil {
		return nil, err
	}
	r := &reviewer{authentication.TokenReviews(), authorization.SubjectAccessReviews(), make(chan struct{}, maxReviews)}
	return func(log logr.Logger, next http.Handler) (http.Handler, error) {
		return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			status, err := r.review(req)
			if err != nil {
				log.Error(err, "Reviewing a request for metrics")
			}
			switch status {
			case http.StatusOK:
				next.ServeHTTP(w, req)
				return
			case http.StatusUnauthorized:
				w.Header().Set("WWW-Authenticate", "Bearer")
			}
			http.Error(w, http.StatusText(status), status)
		}), nil
	}, nil
}

// review returns the status code for req, which is 200 if it may pass. The error is that of a failed review.
func (r *reviewer) review(req *http.Request) (status int, err error) {
	token := bearerToken(req)
	if token == "" {
		return http.StatusUnauthorized, nil
	}
	ctx, cancel := context.WithTimeout(req.Context(), reviewTimeout)
	defer cancel()
	select {
	case r.slots <- struct{}{}:
		defer func() { <-r.slots }()
	case <-ctx.Done():
		return http.StatusServiceUnavailable, nil
	}
	user, err := r.authenticate(ctx, token)
	if err != nil {
		return http.StatusInternalServerError, err
	}
	if user == nil {
		return http.StatusUnauthorized, nil
	}
	allowed, err := r.authorize(ctx, user, strings.ToLower(req.Method), req.URL.Path)
	if err != nil {
		return http.StatusInternalServerError, err
	}
	if !allowed {
		return http.StatusForbidden, nil
	}
	return http.StatusOK, nil
}

// bearerToken returns the token of an Authorization header, or "" when there is none.
func bearerToken(req *http.Request) string {
	scheme, token, _ := strings.Cut(strings.TrimSpace(req.Header.Get("Authorization")), " ")
	if !strings.EqualFold(scheme, "bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}

// authenticate returns the user of token, or nil when the API server does not authenticate it.
func (r *reviewer) authenticate(ctx context.Context, token string) (*authenticationv1.UserInfo, error) {
	review := &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token}}
	review, err := r.authentication.Create(ctx, review, metav1.CreateOptions{})
	if err != nil {
		return nil, fmt.Errorf("creating a TokenReview: %w", err)
	}
	if !review.Status.Authenticated {
		return nil, nil
	}
	return &review.Status.User, nil
}

// authorize reports whether user may use verb on the path.
func (r *reviewer) authorize(ctx context.Context, user *authenticationv1.UserInfo, verb, path string) (bool, error) {
	extra := make(map[string]authorizationv1.ExtraValue, len(user.Extra))
	for key, value := range user.Extra {
		extra[key] = authorizationv1.ExtraValue(value)
	}
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		NonResourceAttributes: &authorizationv1.NonResourceAttributes{Path: path, Verb: verb},
		User:                  user.Username,
		UID:                   user.UID,
		Groups:                user.Groups,
		Extra:                 extra,
	}}
	review, err := r.authorization.Create(ctx, review, metav1.CreateOptions{})
	if err != nil {
		return false, fmt.Errorf("creating a SubjectAccessReview: %w", err)
	}
	return review.Status.Allowed && !review.Status.Denied, nil
}
