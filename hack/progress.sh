#!/usr/bin/env bash
# progress.sh CMD…: run a command that may be silent for minutes, and print how long it has taken whenever it has printed
# nothing for 5 seconds.
set -uo pipefail
"$@" 2>&1 | while true; do
  if IFS= read -r -t 5 line; then
    printf '%s\n' "$line"
  elif [ $? -gt 128 ]; then # the time is over; line has what a line begins with
    printf '%s  … %d s\n' "$line" "$SECONDS"
  else
    printf '%s' "$line"
    break
  fi
done
