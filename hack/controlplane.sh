#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Builds the control plane of another Kubernetes version from its Go modules, to run tests against:
#
#   hack/controlplane.sh 1.31.4
#   KUBEBUILDER_ASSETS=$PWD/bin/kube-1.31.4 go test ./apis/... ./reconcilers/...
#
# It has kube-apiserver, kube-controller-manager and kube-scheduler; etcd, kubectl and kwok are those of
# `make kube`. It takes 10 to 15 minutes on two cores.
set -euo pipefail
cd "$(dirname "$0")/.."

version=${1:?usage: hack/controlplane.sh VERSION, such as 1.31.4}
assets=$PWD/bin/kube-$version
# The checksum database does not know all of these modules.
export GONOSUMDB='k8s.io/*'
source=$(go mod download -json "k8s.io/kubernetes@v$version" | sed -n 's/^\t"Dir": "\(.*\)",$/\1/p')
[ -n "$source" ] || { echo "controlplane.sh: there is no module of Kubernetes v$version" >&2; exit 1; }

module=$(mktemp -d)
trap 'rm -rf "$module"' EXIT
# The go.mod of Kubernetes replaces its parts by directories of its repository; here they are the
# modules published from those, whose minor version is that of Kubernetes.
sed -e 's/^module .*/module controlplane/' -e "s#=> ./staging/src/\(k8s.io/[^ ]*\)#=> \1 v0.${version#1.}#" \
    -e "s#^\(\tk8s.io/[^ ]*\) v0.0.0\$#\1 v0.${version#1.}#" "$source/go.mod" > "$module/go.mod"
cp "$source/go.sum" "$module/"
for program in kube-apiserver/apiserver kube-controller-manager/controller-manager kube-scheduler/scheduler; do
    mkdir "$module/${program%/*}"
    cp "$source/cmd/$program.go" "$module/${program%/*}/main.go"
done
chmod -R u+w "$module"
mkdir -p "$assets"
minor=${version#1.}
build="-X k8s.io/component-base/version.gitVersion=v$version -X k8s.io/component-base/version.gitMajor=1"
build="$build -X k8s.io/component-base/version.gitMinor=${minor%%.*}"
(
    cd "$module"
    go mod edit -require="k8s.io/kubernetes@v$version"
    go build -mod=mod -trimpath -ldflags "$build" -o "$assets/" ./...
)
ln -sf ../kube/etcd ../kube/kubectl "$assets/"
echo "KUBEBUILDER_ASSETS=$assets"
