#!/usr/bin/env bash
# Check all shell scripts with ShellCheck, a package of most distributions. Where it is missing, only CI fails.
set -euo pipefail
cd "$(dirname "$0")/.."
if ! command -v shellcheck > /dev/null; then
  echo 'shellcheck.sh: ShellCheck is not installed, so that no script is checked' >&2
  [ -z "${CI:-}" ]
  exit
fi
git ls-files -z --cached --others --exclude-standard '*.sh' .ci/run | xargs -0 shellcheck --severity=warning
