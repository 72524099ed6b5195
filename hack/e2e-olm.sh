#!/usr/bin/env bash
# e2e-olm.sh [GO TEST ARGS…]: the tests by which OLM, the real one, installs, upgrades, holds back and
# removes the operator, on a real node that this script starts and stops (root; see
# node/README.md). Two versions are released into a registry on that node as `make` releases them: images,
# bundles by digests, catalogs.
set -euo pipefail
cd "$(dirname "$0")/.."
export PATH="$PWD/bin:$PWD/bin/kube:$PATH"
export E2E_ARTIFACTS=${E2E_ARTIFACTS:-$PWD/artifacts} NODES=1 NODE_DIR=${NODE_DIR:-$PWD/.node}
. ./hack/node/env.sh
registry=localhost:5000 # of the node's own network, so no other is in the way
tree=$(mktemp -d)
finish() {
  local status=$?
  if [ "$status" != 0 ] && [ -e "$dir/node1/log" ]; then
    mkdir -p "$E2E_ARTIFACTS"
    cp -r "$dir/node1/log/pods" "$E2E_ARTIFACTS/pods" || true
    kubectl get -A -o yaml catalogsources,subscriptions,installplans,csvs,operatorgroups,operatorconditions > "$E2E_ARTIFACTS/olm.yaml" || true
  fi
  hack/node/down.sh || status=1
  rm -rf "$tree"
  exit "$status"
}

# module PROGRAM: its module with the version, of programs.txt; pinned PROGRAM: the version.
module() { awk -v name="$1" '$1 == name {print $2}' "$repo/hack/tools/programs.txt"; }
pinned() { module "$1" | sed 's/.*@v//'; }
# on_node CMD…: CMD in the network of the node, where the registry is.
on_node() { nsenter --target "$(cat "$dir/node1/pid")" --net -- "$@"; }
step() { echo "=== $* ($SECONDS s)"; }

# program_image NAME DOCKERFILE-LINE… -- PROGRAM…: an image of those of bin/, into buildah's store.
program_image() {
  local name=$1 root lines=()
  shift
  while [ "$1" != -- ]; do lines+=("$1"); shift; done
  shift
  root=$(mktemp -d "$tree/image.XXXXXX")
  mkdir -p "$root"/{bin,tmp}
  chmod 755 "$root"
  chmod 1777 "$root/tmp"
  for program; do cp "bin/$program" "$root/bin"; done
  cp /bin/busybox "$root/bin/cp" # OLM copies its programs about, the scorecard unpacks a bundle
  ln "$root/bin/cp" "$root/bin/tar"
  printf '%s\n' 'FROM scratch' 'COPY . /' 'USER 1001' "${lines[@]}" > "$tree/Dockerfile"
  hack/node/buildah.sh build --quiet --timestamp 0 --file "$tree/Dockerfile" --tag "$name" "$root" > /dev/null
  rm -rf "$root"
}

# push NAME AS: an image of buildah's store into the registry.
push() {
  rm -f "$tree/image.tar"
  hack/node/buildah.sh push --quiet "$1" "docker-archive:$tree/image.tar" > /dev/null
  on_node crane push "$tree/image.tar" "$registry/$2" > /dev/null
}

# The programs of OLM, and what it runs: under their public names where our files name them, and from the
# registry where OLM wants to pull.
platform_images() {
  program_image "quay.io/operator-framework/opm:v$(pinned opm)" 'ENTRYPOINT ["/bin/opm"]' -- opm grpc_health_probe
  push "quay.io/operator-framework/opm:v$(pinned opm)" opm
  program_image "quay.io/operator-framework/olm:v$(pinned olm)" -- olm catalog cpb
  push "quay.io/operator-framework/olm:v$(pinned olm)" olm
  on_node crane push "$cache/images/memcached_1.6.45.tar" "$registry/library/memcached:1.6.45" > /dev/null
  on_node crane push "$cache/images/prom_memcached-exporter_v0.16.0.tar" "$registry/prom/memcached-exporter:v0.16.0" > /dev/null
}

# OLM's own chart, without the console's package server, which needs an aggregated API.
install_olm() {
  local chart templates=()
  chart=$(GOFLAGS=-mod=mod go mod download -json "$(module olm)" | sed -n 's/^\t"Dir": "\(.*\)",$/\1/p')/deploy/chart
  kubectl apply --server-side -f "$chart/crds" > /dev/null
  for template in 00-namespace 02-olm-operator.serviceaccount 03-olmconfig 07-olm-operator.deployment 08-catalog-operator.deployment 09-aggregated.clusterrole; do
    templates+=(--show-only "templates/0000_50_olm_$template.yaml")
  done
  helm3 template olm "$chart" "${templates[@]}" \
    --set namespace=olm,catalog_namespace=olm,olm.image.ref=$registry/olm,catalog.image.ref=$registry/olm \
    --set catalog.opmImageArgs=--opmImage=$registry/opm |
    kubectl apply --server-side -f - > /dev/null
}

# release VERSION [BEFORE]: what a release of that version makes: image, bundle, bundle's image.
release() {
  local version=$1 before=${2:-} image=$registry/memcached-operator:$1
  SOURCE_DATE_EPOCH=1 $make docker-build VERSION="$version" IMG="$image"
  push "$image" "${image#*/}"
  [ -n "$before" ] || push "$image" "$(hack/exporter-image.sh "${image#*/}")" # of a version of its own, which stays
  $make bundle bundle-build VERSION="$version" IMG="${image%:*}@$(on_node crane digest "$image")" REPLACES="$before" USE_IMAGE_DIGESTS=true BUNDLE_IMG="$registry/bundle:$version"
  push "$registry/bundle:$version" "bundle:$version"
  cp -r "$tree/src/bundle" "$tree/bundle-$version"
}

# catalog NAME VERSION…: a catalog of these releases, as an image in the registry.
catalog() {
  local name=$1 version
  shift
  { printf 'Schema: olm.semver\nGenerateMajorChannels: true\nGenerateMinorChannels: false\nCandidate:\n  Bundles:\n'
    for version; do printf '  - Image: %s@%s\n' "$registry/bundle" "$(on_node crane digest "$registry/bundle:$version")"; done
  } > "$tree/src/catalog/semver.yaml"
  $make catalog catalog-build OPMFLAGS=--use-http CATALOG_IMG="$registry/catalog:$name"
  push "$registry/catalog:$name" "catalog:$name"
}

# scorecard: the six checks, in pods, of the bundle that is committed.
scorecard() {
  local image
  image=$(sed -n 's/^ *image: //p' bundle/tests/scorecard/config.yaml | sort -u)
  program_image "$image" -- scorecard-test
  hack/node/load.sh "$image"
  UNTAR_IMAGE=$image hack/scorecard.sh
}

# main
need_root
hack/node/packages.sh --check
go mod download # what runs in the node's network cannot
rm -rf "$E2E_ARTIFACTS"
trap finish EXIT
step 'starting a node'
hack/node/up.sh
export KUBECONFIG=$dir/kubeconfig

# What is generated is not to be in this tree.
mkdir "$tree/src" "$tree/registry"
git ls-files -z --cached --others --exclude-standard | tar -c --null --files-from - --ignore-failed-read | tar -x -C "$tree/src"
ln -sfn "$bin" "$tree/src/bin"
export NODE_CACHE=$cache
make="on_node make --no-print-directory -C $tree/src CONTAINER_TOOL=$PWD/hack/node/buildah.sh"
in_node 1 "$bin/crane" registry serve --address "$registry" --disk "$tree/registry" > "$dir/node1/log/registry.log" 2>&1 &
step 'putting OLM onto it'
platform_images
install_olm
step 'releasing two versions into its registry'
# Bundles by digests need every image in the registry, memcached and its exporter too.
sed -i -E "s#value: docker.io/(library/memcached|prom/memcached-exporter):#value: $registry/\\1:#" "$tree/src/config/manager/manager.yaml"
release 0.0.1
release 0.0.2 0.0.1
catalog old 0.0.1
catalog new 0.0.1 0.0.2
step 'the scorecard'
scorecard
step 'the tests'
export E2E_KUBECONFIG=$KUBECONFIG E2E_AUDIT_LOG=$dir/audit.log
export E2E_OLM_CATALOG_OLD=$registry/catalog:old E2E_OLM_CATALOG_NEW=$registry/catalog:new
hack/progress.sh go test -tags e2e -count=1 -timeout 20m -parallel 8 "$@" ./test/e2e/olm
step 'all passed'
