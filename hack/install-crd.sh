#!/usr/bin/env bash
# install-crd.sh: install or update the CustomResourceDefinition in the cluster that kubectl is set to. FORCE=1 takes over
# fields of other field managers, such as Helm.
set -euo pipefail
cd "$(dirname "$0")/.."
export PATH="$PWD/bin:$PWD/bin/kube:$PATH"
name=memcacheds.cache.example.com
force=
[ -z "${FORCE:-}" ] || force=--force-conflicts
kubectl kustomize config/crd | kubectl apply --server-side $force -f - && exit
release=$(kubectl get crd "$name" -o jsonpath='{.metadata.annotations.meta\.helm\.sh/release-name}' 2> /dev/null) || release=
[ -n "$release" ] || exit 1
namespace=$(kubectl get crd "$name" -o jsonpath='{.metadata.annotations.meta\.helm\.sh/release-namespace}')
cat >&2 <<END

The CustomResourceDefinition belongs to the Helm release $release and differs from this tree. Either upgrade the release:

  helm upgrade $release charts/memcached-operator --namespace $namespace --reset-then-reuse-values

or take its fields over (with Helm 4, the next upgrade then needs --force-conflicts):

  make install FORCE=1
END
exit 1
