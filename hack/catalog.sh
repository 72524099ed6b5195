#!/usr/bin/env bash
# catalog.sh [TEMPLATE]: generate the file-based catalog catalog/configs from a semver template (default
# catalog/semver.yaml). opm pulls the bundle images; set OPMFLAGS=--use-http for a registry without TLS.
set -euo pipefail
cd "$(dirname "$0")/.."
export PATH="$PWD/bin:$PATH"
template=${1:-catalog/semver.yaml}
new=$(mktemp -d "$PWD/catalog/.new.XXXXXX")
trap 'rm -rf "$new"' EXIT
fail() { echo "catalog: $*" >&2; exit 1; }

[ -f "$template" ] || fail "$template, which lists the bundle images, does not exist"
mkdir "$new/memcached-operator"
# shellcheck disable=SC2086 # flags
opm alpha render-template semver ${OPMFLAGS:-} --output yaml "$template" > "$new/memcached-operator/catalog.yaml" 2> "$new/log" ||
  fail "$template: $(sed -n 's/^Error: //p' "$new/log")"
rm "$new/log"
opm validate "$new"
chmod 755 "$new"
rm -rf catalog/configs
mv "$new" catalog/configs
