#!/usr/bin/env bash
# build.sh NAME…: build programs of programs.txt into bin/, each at its pinned version.
set -euo pipefail
cd "$(dirname "$0")/../.."
root=$PWD
export CGO_ENABLED=0 GOTOOLCHAIN=local GOFLAGS=-mod=mod
for name; do
  read -r _ module package tags < <(awk -v name="$name" '$1 == name' hack/tools/programs.txt) ||
    { echo "build.sh: hack/tools/programs.txt has no line for $name" >&2; exit 1; }
  dir=$(go mod download -json "$module" | sed -n 's/^\t"Dir": "\(.*\)",$/\1/p')
  version=${module#*@}
  go build -C "$dir" -mod=readonly -trimpath -tags "$tags" -ldflags "-s -w" -o "$root/bin/$name" "$package"
  echo "built $name $version"
done
