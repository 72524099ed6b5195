// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"path/filepath"
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
