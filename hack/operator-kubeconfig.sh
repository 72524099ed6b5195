#!/usr/bin/env bash
# operator-kubeconfig.sh FILE: make the operator's service account and roles in the
# cluster of KUBECONFIG, and write a kubeconfig for that account to FILE.
set -euo pipefail
cd "$(dirname "$0")/.."
export PATH="$PWD/bin:$PWD/bin/kube:$PATH"
file=$1
namespace=memcached-operator-system
account=memcached-operator-controller-manager
kustomize build hack/operator-identity | kubectl apply --server-side -f - >/dev/null
token=$(kubectl -n "$namespace" create token "$account" --duration=24h)
(umask 077 && kubectl config view --raw --flatten --minify > "$file")
kubectl --kubeconfig "$file" config set-credentials operator --token="$token" >/dev/null
kubectl --kubeconfig "$file" config set-context --current --user=operator >/dev/null
