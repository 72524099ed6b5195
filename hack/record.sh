#!/usr/bin/env bash
# record.sh: record `make demo` as the picture docs/images/demo.svg, with asciinema (a package of Debian and others) and
# svg-term-cli, which npx fetches.
set -euo pipefail
cd "$(dirname "$0")/.."
cast=$(mktemp)
trap 'rm -f "$cast"' EXIT
asciinema rec --quiet --overwrite --cols 120 --rows 36 --idle-time-limit 1 --command 'make demo' "$cast"
npx --yes svg-term-cli@2.1.1 --in "$cast" --out docs/images/demo.svg --window --no-cursor
