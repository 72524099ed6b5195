// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/go-logr/logr/funcr"
	"k8s.io/client-go/rest"
)

// TestReviewed_WithoutAPIServer: nobody is let in while nobody can be asked. What the API server
// answers is tested with a real one, in test/program.
func TestReviewed_WithoutAPIServer(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		header string
		want   int
		logged string
	}{
		"refuses an anonymous request":            {"", http.StatusUnauthorized, ""},
		"refuses another scheme":                  {"Basic YWxpY2U6c2VjcmV0", http.StatusUnauthorized, ""},
		"refuses an empty token":                  {"Bearer  ", http.StatusUnauthorized, ""},
		"fails for a token, and says why":         {"Bearer some.secret.token", http.StatusInternalServerError, "creating a TokenReview: "},
		"reads the scheme in any case":            {"bEARER some.secret.token", http.StatusInternalServerError, "creating a TokenReview: "},
		"refuses a token without a scheme before": {"some.secret.token", http.StatusUnauthorized, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			filter, err := reviewed(&rest.Config{Host: "http://127.0.0.1:0"}, http.DefaultClient)
			if err != nil {
				t.Fatal(err)
			}
			var logged strings.Builder
			log := funcr.New(func(_, arguments string) { logged.WriteString(arguments) }, funcr.Options{})
			handler, err := filter(log, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the request is let through") }))
			if err != nil {
				t.Fatal(err)
			}
			request, answer := httptest.NewRequest(http.MethodGet, "/metrics", nil), httptest.NewRecorder()
			request.Header.Set("Authorization", test.header)
			handler.ServeHTTP(answer, request)
			if answer.Code != test.want {
				t.Errorf("the answer is %d, want %d", answer.Code, test.want)
			}
			if (test.want == http.StatusUnauthorized) != (answer.Header().Get("WWW-Authenticate") == "Bearer") {
				t.Errorf("WWW-Authenticate is %q", answer.Header().Get("WWW-Authenticate"))
			}
			if text := logged.String(); !strings.Contains(text, test.logged) || test.logged == "" && text != "" || strings.Contains(text, "secret") {
				t.Errorf("logged is %q, want it to contain %q and no token", text, test.logged)
			}
		})
	}
}
