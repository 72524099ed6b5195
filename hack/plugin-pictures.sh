#!/usr/bin/env bash
# plugin-pictures.sh: draw docs/images/plugin-status.svg and plugin-top.svg from what the kubectl plugin prints of a Memcached on
# the real nodes of the end-to-end tests.
set -euo pipefail
cd "$(dirname "$0")/.."
texts=$(mktemp -d)
trap 'rm -rf "$texts"' EXIT
E2E_PICTURES=$texts E2E_PACKAGES=./test/e2e make e2e E2EFLAGS="-run TestPlugin_Pictures"
for name in status top; do
  go run ./hack/svg screen "$texts/$name.txt" > "$texts/$name.svg"
  mv "$texts/$name.svg" "docs/images/plugin-$name.svg"
done
echo "plugin-pictures: wrote docs/images/plugin-status.svg and docs/images/plugin-top.svg"
