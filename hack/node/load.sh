#!/usr/bin/env bash
# load.sh IMAGE…: put images into every node, as `kind load` does: by name out of the store of
# buildah.sh, or from archives (files).
set -euo pipefail
. "$(dirname "$0")/env.sh"
need_root
[ $# -gt 0 ] || fail "which image? name it, or an archive of it"
[ -e "$dir/node1/pid" ] || fail "no cluster is up in $dir; start one with hack/node/up.sh"
pushed=$(mktemp -d "$dir/load.XXXXXX")
trap 'rm -rf "$pushed"' EXIT
for image; do
  archive=$image
  if [ ! -f "$archive" ]; then
    archive=$pushed/${image//[\/:]/_}
    "$here/buildah.sh" push --quiet "$image" "docker-archive:$archive:$image" > /dev/null
  fi
  for pid in "$dir"/node*/pid; do
    node=${pid%/pid}
    in_node "${node##*/node}" ctr --namespace k8s.io images import - < "$archive" > /dev/null &
  done
  for job in $(jobs -p); do wait "$job"; done
done
