// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// Kubeconfig writes cfg, which has a token, to a file and returns its path. The file names server
// unless that is empty.
func Kubeconfig(t testing.TB, cfg *rest.Config, server string) string {
	t.Helper()
	if server == "" {
		server = cfg.Host
	}
	config := clientcmdapi.NewConfig()
	config.Clusters["test"] = &clientcmdapi.Cluster{Server: server, CertificateAuthorityData: cfg.CAData}
	config.AuthInfos["test"] = &clientcmdapi.AuthInfo{Token: cfg.BearerToken}
	config.Contexts["test"] = &clientcmdapi.Context{Cluster: "test", AuthInfo: "test"}
	config.CurrentContext = "test"
	name := filepath.Join(t.TempDir(), "kubeconfig")
	NoError(t, clientcmd.WriteToFile(*config, name))
	return name
}

// Refusing returns the URL of a proxy to the API server of cfg, which acts with cfg's rights, and answers requests whose path
// ends with end by status and message.
func Refusing(t testing.TB, cfg *rest.Config, end string, status int, message string) string {
	t.Helper()
	target, err := url.Parse(cfg.Host)
	NoError(t, err)
	transport, err := rest.TransportFor(cfg)
	NoError(t, err)
	proxy := httputil.NewSingleHostReverseProxy(target)
	proxy.Transport = transport
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, end) {
			http.Error(w, message, status)
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return server.URL
}
