// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"path/filepath"
	"testing"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// Kubeconfig writes cfg to a file, for server where that is not empty, and returns its name.
func Kubeconfig(t *testing.T, cfg *rest.Config, server string) string {
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
	if err := clientcmd.WriteToFile(*config, name); err != nil {
		t.Fatal(err)
	}
	return name
}
