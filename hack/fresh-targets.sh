#!/usr/bin/env bash
# fresh-targets.sh [TARGET…]: run each of the quick targets of the Makefile in a fresh clone of HEAD of its own, with
# nothing in PATH but Go and the programs of the system, and print what each took. The build cache is shared, so that
# it takes minutes. It shows whether a target needs another one to have run before.
set -uo pipefail
cd "$(dirname "$0")/.." || exit
repository=$PWD
[ $# -gt 0 ] || set -- help build build-plugin generate manifests fmt check lint verify build-installer bundle sbom test-api cluster-up
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0
for target; do
  clone=$work/$target start=$SECONDS result=ok
  git clone --quiet "$repository" "$clone"
  env -i HOME="$HOME" PATH="$(go env GOROOT)/bin:/usr/bin:/bin" make -C "$clone" "$target" > "$work/log" 2>&1 || result=FAILED
  [ "$target" != cluster-up ] || make -C "$clone" cluster-down >> "$work/log" 2>&1 || result=FAILED
  printf '%-16s %-6s %4d s\n' "$target" "$result" $((SECONDS - start))
  if [ "$result" != ok ]; then
    failed=1
    tail -n 20 "$work/log"
  fi
  rm -rf "$clone"
done
exit "$failed"
