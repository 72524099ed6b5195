#!/usr/bin/env bash
# pki.sh: make the cluster's certificates and kubeconfigs: for node N in its nodeN/run/node,
# which is /run/node to it; the control plane's are with node 1.
set -euo pipefail
. "$(dirname "$0")/env.sh"
umask 077
mkdir -p "$dir/pki"
cd "$dir/pki"
curve=(-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes)

# certificate NAME SUBJECT ALTNAMES
certificate() {
  openssl req "${curve[@]}" -keyout "$1.key" -out "$1.csr" -subj "$2" 2> openssl.log
  openssl x509 -req -in "$1.csr" -CA ca.crt -CAkey ca.key -CAcreateserial -days 365 -out "$1.crt" \
    -extfile <(echo "subjectAltName=$3") 2> openssl.log
}

# kubeconfig NAME SUBJECT: for the user that the subject of a certificate names.
kubeconfig() {
  certificate "$1" "$2" "DNS:$1"
  cat > "$1.kubeconfig" <<-END
	apiVersion: v1
	kind: Config
	clusters: [{name: node, cluster: {server: "https://$(node_ip 1):6443", certificate-authority-data: $(base64 -w0 ca.crt)}}]
	users: [{name: $1, user: {client-certificate-data: $(base64 -w0 "$1.crt"), client-key-data: $(base64 -w0 "$1.key")}}]
	contexts: [{name: node, context: {cluster: node, user: $1}}]
	current-context: node
	END
}

openssl req -x509 "${curve[@]}" -keyout ca.key -out ca.crt -days 365 -subj /CN=node-cluster 2> openssl.log
openssl ecparam -genkey -name prime256v1 -noout -out service-accounts.key
openssl ec -in service-accounts.key -pubout -out service-accounts.pub 2> openssl.log
# The API server shows this one to its clients, and to kubelets as theirs.
certificate kube-apiserver /O=system:masters/CN=kube-apiserver \
  "DNS:kubernetes,DNS:kubernetes.default,DNS:kubernetes.default.svc,DNS:kubernetes.default.svc.cluster.local,IP:127.0.0.1,IP:10.96.0.1,IP:$(node_ip 1)"
kubeconfig admin /O=system:masters/CN=admin
kubeconfig kube-controller-manager /CN=system:kube-controller-manager
kubeconfig kube-scheduler /CN=system:kube-scheduler
kubeconfig kube-proxy /CN=system:kube-proxy
for i in $(seq "$nodes"); do
  kubeconfig kubelet "/O=system:nodes/CN=system:node:node$i"
  certificate kubelet-serving "/CN=node$i" "DNS:node$i,IP:$(node_ip "$i")"
  run=$dir/node$i/run/node
  mkdir -p "$run"
  cp ca.crt kubelet.kubeconfig kube-proxy.kubeconfig "$run"
  cp kubelet-serving.crt "$run/kubelet.crt"
  cp kubelet-serving.key "$run/kubelet.key"
done
cp service-accounts.* kube-apiserver.{crt,key} admin.kubeconfig kube-{controller-manager,scheduler}.kubeconfig "$dir/node1/run/node"
