#!/usr/bin/env bash
# Generate everything again; whatever differs from before was stale, or edited by hand.
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
gofmt -w $(git ls-files --cached --others --exclude-standard '*.go')
after=$(state)
if [ "$before" != "$after" ]; then
  echo "verify: these files were stale, or generated files were edited; they are written anew, commit them:" >&2
  diff <(echo "$before") <(echo "$after") >&2 || true
  exit 1
fi
hack/crd-safety.sh
# What is written by hand in two places has to say the same: chart and config.
go test -count=1 -run 'TestIsWhatConfigIs|TestMetadata|TestNamespacedInstall|TestWhatIsAppliedBeside' ./test/chart ./test/config
echo "verify: everything generated is fresh"
