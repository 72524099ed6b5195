#!/usr/bin/env bash
# with-image.sh IMG: print config/default with IMG as the operator's image, editing no file.
set -euo pipefail
cd "$(dirname "$0")/.."
export PATH="$PWD/bin:$PWD/bin/kube:$PATH"
overlay=$(mktemp -d "$PWD/config/.overlay.XXXXXX")
trap 'rm -rf "$overlay"' EXIT
(
  cd "$overlay"
  printf 'resources: [../default]\n' > kustomization.yaml
  kustomize edit set image "memcached-operator=$1"
)
kustomize build "$overlay"
