#!/usr/bin/env bash
# check-image.sh IMG: check the operator's image: its size, its user, its labels, and that its program is identical to that
# of `make build` on this machine. CONTAINER_TOOL is podman or buildah.
set -euo pipefail
cd "$(dirname "$0")/.."
image=$1
most=60000000
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "check-image: $image: $*" >&2; exit 1; }

"$CONTAINER_TOOL" push --quiet "$image" "docker-archive:$work/image.tar:$image" > /dev/null
mkdir "$work/image" "$work/root"
tar -x -C "$work/image" -f "$work/image.tar"
size=$(stat -c %s "$work/image.tar")
[ "$size" -lt "$most" ] || fail "the size is $size bytes, more than the limit of $most"
for layer in $(grep -o '[0-9a-f]*\.tar' "$work/image/manifest.json"); do tar -x -C "$work/root" -f "$work/image/$layer"; done
cmp "$work/root/memcached-operator" bin/memcached-operator || fail "its program differs from that of \`make build\`"
config=$(cat "$work/image/"*.json)
for want in '"User":"65532:65532"' '"Entrypoint":\["/memcached-operator"\]' '"org.opencontainers.image.version":"[^"]' '"org.opencontainers.image.revision":"[^"]'; do
  grep -q "$want" <<< "$config" || fail "its configuration lacks $want"
done
echo "check-image: $image: $size bytes, program identical to make build"
