#!/usr/bin/env bash
# operator-kubeconfig.sh FILE [DIR]: create the operator's service account and roles, as the kustomization in DIR (default
# hack/operator-identity) defines them, in the cluster of KUBECONFIG, and write a kubeconfig for the account to FILE.
set -euo pipefail
cd "$(dirname "$0")/.."
export PATH="$PWD/bin:$PWD/bin/kube:$PATH"
file=$1 dir=${2:-hack/operator-identity}
applied=$(kubectl kustomize "$dir" | kubectl apply --server-side -o name -f -)
namespace=$(sed -n 's|^namespace/||p' <<< "$applied")
account=$(sed -n 's|^serviceaccount/||p' <<< "$applied")
token=$(kubectl -n "$namespace" create token "$account" --duration=24h)
(umask 077 && kubectl config view --raw --flatten --minify > "$file")
kubectl --kubeconfig "$file" config set-credentials operator --token="$token" > /dev/null
kubectl --kubeconfig "$file" config set-context --current --user=operator > /dev/null
