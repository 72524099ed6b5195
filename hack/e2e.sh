#!/usr/bin/env bash
# e2e.sh [GO TEST ARGS…]: run the end-to-end tests on the cluster of E2E_KUBECONFIG or, if it is not set, on two local nodes
# that this script starts and stops (root; see node/README.md).
#
# The nodes of the cluster of E2E_KUBECONFIG must be able to pull the image IMG, memcached:1.6.45, memcached:1.6.38,
# prom/memcached-exporter:v0.16.0, prom/prometheus:v2.42.0 and busybox:1.35, and the exporter's image beside IMG
# (exporter-image.sh).
set -euo pipefail
cd "$(dirname "$0")/.."
export PATH="$PWD/bin:$PWD/bin/kube:$PATH"
export E2E_ARTIFACTS=${E2E_ARTIFACTS:-$PWD/artifacts}
rm -rf "$E2E_ARTIFACTS"
scratch=$(mktemp -d)
finish() {
  local status=$?
  [ -z "${started:-}" ] || hack/node/down.sh || status=1
  [ ! -e "$scratch/previous" ] || git worktree remove --force "$scratch/previous"
  rm -rf "$scratch"
  exit "$status"
}
trap finish EXIT

if [ -n "${E2E_KUBECONFIG:-}" ]; then
  export E2E_IMAGE=${IMG:?the image under test, which the nodes of your cluster can pull}
else
  hack/node/packages.sh --check
  export CONTAINER_TOOL=$PWD/hack/node/buildah.sh E2E_IMAGE=memcached-operator:e2e
  make --no-print-directory docker-build build IMG="$E2E_IMAGE"
  hack/check-image.sh "$E2E_IMAGE"
  exporter=$(hack/exporter-image.sh "$E2E_IMAGE")
  hack/node/buildah.sh tag "$E2E_IMAGE" "$exporter"

  # The commit that the upgrade tests begin with; a shallow clone does not have it.
  from=$(cat hack/upgrade-from)
  if [ "$(git rev-parse --is-shallow-repository)" = true ] && ! git cat-file -e "$from^{commit}" 2> /dev/null; then
    echo "e2e: upgrade tests are skipped: this clone is shallow and lacks the commit $from" >&2
  else
    # Tests and pages are not part of the operator.
    if git diff --quiet "$from" -- main.go go.mod apis internal manifests reconcilers ':!*_test.go' ':!*/testdata/*' ':!*.md'; then
      echo "e2e: the operator of $from, in hack/upgrade-from, is the one under test: name an earlier commit" >&2
      exit 1
    fi
    git worktree add --quiet --detach "$scratch/previous" "$from"
    export E2E_PREVIOUS_IMAGE=memcached-operator:e2e-previous E2E_PREVIOUS_INSTALLER=$scratch/previous.yaml E2E_PREVIOUS_CHART=$scratch/previous/charts/memcached-operator
    make --no-print-directory -C "$scratch/previous" docker-build IMG="$E2E_PREVIOUS_IMAGE"
    "$scratch/previous/hack/installer.sh" "$E2E_PREVIOUS_IMAGE" > "$E2E_PREVIOUS_INSTALLER"
  fi

  export NODE_DIR=${NODE_DIR:-$PWD/.node}
  started=yes
  hack/node/up.sh
  for image in "$E2E_IMAGE" "$exporter" ${E2E_PREVIOUS_IMAGE:-}; do hack/node/load.sh "$image"; done
  export E2E_KUBECONFIG=$NODE_DIR/kubeconfig E2E_AUDIT_LOG=$NODE_DIR/audit.log
fi
export E2E_INSTALLER=$scratch/install.yaml
hack/installer.sh "$E2E_IMAGE" > "$E2E_INSTALLER"

# One package at a time, because each installs the operator in its own way.
hack/progress.sh go test -tags e2e -p 1 -count=1 -timeout 25m -parallel 32 "$@" ${E2E_PACKAGES:-./test/e2e ./test/e2e/helm}
