#!/usr/bin/env bash
# down.sh: stop the cluster of NODE_DIR, however far it came, and remove NODE_DIR.
set -euo pipefail
. "$(dirname "$0")/env.sh"
need_root

# All its processes are in its cgroup, and so are its namespaces' first processes, with which
# everything in them ends: mounts, networks, containers.
processes() { find /sys/fs/cgroup -path "*/$cgroup/*" -name cgroup.procs -exec cat {} + 2>/dev/null | sort -u || true; } # groups may vanish under it
for _ in $(seq 200); do
  pids=$(processes)
  [ -n "$pids" ] || break
  kill -KILL $pids 2>/dev/null || true
  sleep 0.05
done
[ -z "$(processes)" ] || fail "these processes do not end: $(processes | tr '\n' ' ')"

for hierarchy in $(cgroup_hierarchies); do
  group=${hierarchy%/}/$cgroup
  for _ in $(seq 100); do
    [ -d "$group" ] || break
    find "$group" -depth -type d -exec rmdir {} + 2>/dev/null || sleep 0.05
  done
  [ ! -d "$group" ] || fail "$group cannot be removed"
done

[ ! -e "$dir/.node-cluster" ] || rm -rf --one-file-system "$dir"
