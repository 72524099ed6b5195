#!/usr/bin/env bash
# record.sh [COMMAND…]: run COMMAND, `make demo` unless given, and draw what it prints as the recording
# docs/images/demo.svg. `record.sh --log FILE` draws a log without times instead.
set -euo pipefail
cd "$(dirname "$0")/.."
lines=$(mktemp)
trap 'rm -f "$lines"' EXIT

# stamp: put the seconds since the start and a tab before each line.
stamp() {
  local line start=$EPOCHREALTIME
  while IFS= read -r line || [ -n "$line" ]; do
    printf '%s\t%s\n' "$(awk -v a="$start" -v b="$EPOCHREALTIME" 'BEGIN { printf "%.2f", b - a }')" "$line"
  done
}

if [ "${1:-}" = --log ]; then
  awk '{ printf "%.2f\t%s\n", NR / 8, $0 }' "$2" > "$lines"
else
  [ $# -gt 0 ] || set -- make demo
  "$@" 2>&1 | tee /dev/stderr | stamp > "$lines"
fi
go run ./hack/svg recording "$lines" > docs/images/demo.svg.new
mv docs/images/demo.svg.new docs/images/demo.svg
echo "record: wrote docs/images/demo.svg"
