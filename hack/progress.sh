#!/usr/bin/env bash
# progress.sh CMD…: run a long build and print every 5 seconds how long it has taken.
set -u
start=$SECONDS
"$@" &
build=$!
trap 'kill "$build" 2>/dev/null' INT TERM
while kill -0 "$build" 2>/dev/null; do
  for _ in $(seq 5); do
    sleep 1
    kill -0 "$build" 2>/dev/null || break
  done
  kill -0 "$build" 2>/dev/null && echo "  … still building, $((SECONDS - start)) s"
done
wait "$build"
