#!/usr/bin/env bash
# crd-safety.sh: reject a CustomResourceDefinition to which users of the last release could not upgrade. The last release
# is the nearest tag v* in git.
set -euo pipefail
cd "$(dirname "$0")/.."
export PATH="$PWD/bin:$PATH"
file=config/crd/bases/cache.example.com_memcacheds.yaml

if ! tag=$(git describe --tags --abbrev=0 --match='v[0-9]*' 2>/dev/null); then
  if [ "$(git rev-parse --is-shallow-repository 2>/dev/null)" = true ]; then
    echo "crd-safety: skipped: this clone is shallow and has no tag v*; run git fetch --tags --unshallow" >&2
  else
    echo "crd-safety: skipped: there is no release (tag v*) yet"
  fi
  exit 0
fi

released=$(mktemp)
trap 'rm -f "$released"' EXIT
git show "$tag:$file" >"$released"

# versions FILE served|any: the names of its versions, as controller-gen writes them.
versions() { awk -v what="$2" '/^(    |  - )name: / {name = $NF} /^    served: / && (what == "any" || $2 == "true") {print name}' "$1" | sort; }

if gone=$(comm -23 <(versions "$released" served) <(versions "$file" any)) && [ -n "$gone" ]; then
  echo "crd-safety: $file no longer has version ${gone//$'\n'/, }, which $tag serves: stop serving it one release earlier (docs/crd-versions.md)" >&2
  exit 1
fi
if ! findings=$(crdify "file://$released" "file://$PWD/$file" --config=hack/crdify.yaml 2>&1); then
  printf 'crd-safety: %s is not a safe upgrade from %s (docs/crd-versions.md):\n%s\n' "$file" "$tag" "$findings" >&2
  exit 1
fi
echo "crd-safety: the CRD is a safe upgrade from $tag"
