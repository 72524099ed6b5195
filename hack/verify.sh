#!/usr/bin/env bash
# Generate all generated files again and fail if one of them changes, because it was stale or edited by hand.
set -euo pipefail
cd "$(dirname "$0")/.."
export PATH="$PWD/bin:$PWD/bin/kube:$PATH"

state() { git status --porcelain --untracked-files=all; git diff; git ls-files --others --exclude-standard -z | xargs -0 -r sha256sum; }

before=$(state)
make --no-print-directory generate manifests bundle
for module in . hack/cluster hack/tools hack/tools/lint; do
  go -C "$module" mod tidy
  go -C "$module" mod verify >/dev/null
done
git ls-files -z --cached --others --exclude-standard '*.go' | xargs -0 gofmt -w
after=$(state)
if [ "$before" != "$after" ]; then
  echo "verify: these generated files were stale or edited by hand; they are regenerated now, commit them:" >&2
  diff <(echo "$before") <(echo "$after") >&2 || true
  exit 1
fi
hack/crd-safety.sh
actionlint
echo "verify: all generated files are up to date"
