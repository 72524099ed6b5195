#!/usr/bin/env bash
# plugin.sh VERSION DIR: write an archive of the kubectl plugin for each of PLUGIN_PLATFORMS to DIR, and memcached.yaml, the
# manifest by which krew installs them from RELEASE_URL. The same commit gives the same files.
set -euo pipefail
cd "$(dirname "$0")/.."
. hack/lib.sh
version=$1 out=$2
: "${PLUGIN_PLATFORMS:?such as linux/amd64,darwin/arm64}" "${RELEASE_URL:?the address of the archives}"
name=kubectl-memcached
rm -rf "$out"
mkdir -p "$out"
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT

cat > "$out/memcached.yaml" <<END
apiVersion: krew.googlecontainertools.github.com/v1alpha2
kind: Plugin
metadata:
  name: memcached
spec:
  version: v$version
  homepage: https://github.com/example/memcached-operator
  shortDescription: Show Memcacheds and ask their pods
  description: |
    Shows the Memcacheds of the memcached operator: conditions, objects, and of each pod fill, hit ratio, evictions,
    connections and skew, through port-forward, with TLS and users. It finds the pod that has a key, prints the addresses
    for clients, renders Memcacheds, and compares the templates with a cluster.
  platforms:
END
for platform in ${PLUGIN_PLATFORMS//,/ }; do
  os=${platform%/*} arch=${platform#*/} binary=$name
  [ "$os/$arch" = "$platform" ] && [ -n "$arch" ] || fail "PLUGIN_PLATFORMS: $platform is not OS/ARCHITECTURE"
  [ "$os" != windows ] || binary=$name.exe
  archive=$name-$version-$os-$arch.tar.gz
  mkdir -p "$tree/$os-$arch"
  CGO_ENABLED=0 GOOS=$os GOARCH=$arch go build -trimpath -buildvcs=false -ldflags "-s -w -X main.version=$version" \
    -o "$tree/$os-$arch/$binary" ./cmd/kubectl-memcached
  cp LICENSE "$tree/$os-$arch/"
  tar -c -C "$tree/$os-$arch" --sort=name --mtime="@${SOURCE_DATE_EPOCH:-0}" --owner=0 --group=0 --numeric-owner --mode=go+rX,go-w \
    LICENSE "$binary" | gzip -n > "$out/$archive"
  cat >> "$out/memcached.yaml" <<END
  - selector:
      matchLabels: {os: $os, arch: $arch}
    uri: $RELEASE_URL/$archive
    sha256: $(sha256sum "$out/$archive" | cut -d ' ' -f 1)
    bin: $binary
END
done
