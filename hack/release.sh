#!/usr/bin/env bash
# release.sh VERSION IMG: write all files of a release to dist/vVERSION, from the commit HEAD, and push nothing. From the
# environment: CONTAINER_TOOL, PLATFORMS and, optionally, the variables of bundle.sh. The same commit gives the same files
# with the same tools.
set -euo pipefail
cd "$(dirname "$0")/.."
export PATH="$PWD/bin:$PATH"
. hack/lib.sh
version=$1 image=$2
semver='(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)(-[0-9A-Za-z.-]+)?'
[[ $version =~ ^$semver$ ]] || fail "VERSION=$version is not a semantic version without build metadata, such as 1.2.3"
[[ $image != *@* && ${image##*/} == *:* ]] || fail "IMG=$image must have a tag and no digest, such as registry.example.com/memcached-operator:$version"
[ -z "$(git status --porcelain)" ] || echo "release: the working tree has uncommitted changes, which are not part of the release" >&2
name=memcached-operator
out=$PWD/dist/v$version
repository=${image%:*} tag=${image##*:}
REVISION=$(git rev-parse HEAD)
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export REVISION SOURCE_DATE_EPOCH

tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
mkdir "$tree/src"
git archive HEAD | tar -x -C "$tree/src"
ln -sfn "$PWD/bin" "$tree/src/bin"
rm -rf "$out"
mkdir -p "$out"
step() { echo "=== $* ($SECONDS s)"; }
# pack DIR FILE…: a tar archive of these files, in which nothing depends on the time or the user of the build.
pack() { tar -c -C "$1" --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner --mode=go+rX,go-w "${@:2}"; }
in_tree() { make --no-print-directory -C "$tree/src" VERSION="$version" IMG="$image" "$@"; }

step "the images of ${PLATFORMS//,/, }, as an OCI archive"
in_tree image-archive
mkdir "$tree/image"
tar -x -C "$tree/image" -f "$tree/src/dist/image.tar"
pack "$tree/image" . > "$out/$name-$version-image.oci.tar"

step 'install.yaml and the CustomResourceDefinition'
in_tree build-installer
cp "$tree/src/dist/install.yaml" "$out/install.yaml"
cp "$tree/src/config/crd/bases/cache.example.com_memcacheds.yaml" "$out/crds.yaml"

step 'the Helm chart'
chart=$tree/src/charts/$name
sed -i "s|^  repository: $name\$|  repository: $repository|" "$chart/values.yaml"
[ "$tag" = "$version" ] || sed -i "s|^  tag: \"\"\$|  tag: \"$tag\"|" "$chart/values.yaml"
sed -i "s|^      image: $name:.*|      image: $image|; s|^      image: $name-exporter:.*|      image: $(hack/exporter-image.sh "$image")|" "$chart/Chart.yaml"
helm4 package "$chart" --version "$version" --app-version "$version" --destination "$tree" > /dev/null
mkdir "$tree/chart"
tar -x -z -C "$tree/chart" -f "$tree/$name-$version.tgz"
pack "$tree/chart" "$name" | gzip -n > "$out/$name-$version.tgz" # Helm's own archive has the time of packaging
helm4 template "$out/$name-$version.tgz" > /dev/null

step 'the OLM bundle'
in_tree bundle
pack "$tree/src" bundle bundle.Dockerfile | gzip -n > "$out/$name-$version-bundle.tar.gz"

step "the kubectl plugin for ${PLUGIN_PLATFORMS//,/, }"
in_tree plugin-archives
cp "$tree"/src/dist/plugin/* "$out/"

step 'the SBOM (CycloneDX)'
in_tree sbom
cp "$tree/src/dist/sbom.cdx.json" "$out/$name-$version.cdx.json"

(cd "$out" && sha256sum -- * > "$tree/SHA256SUMS" && mv "$tree/SHA256SUMS" .)
step "all files are in dist/v$version"
cat "$out/SHA256SUMS"
