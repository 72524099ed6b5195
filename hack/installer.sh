#!/usr/bin/env bash
# installer.sh IMG [NAMESPACES]: print the objects that install the operator with the image IMG, for all namespaces or, with
# Roles only, for NAMESPACES (a,b,…); with WEBHOOK=true with the validating webhook, with SITE=true with templates from a
# ConfigMap. It changes no file.
set -euo pipefail
cd "$(dirname "$0")/.."
export PATH="$PWD/bin:$PATH"
image=$1 namespaces=${2:-}
# The overlay lies in a copy of config/, which others may be reading.
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
cp -R config "$tree"
overlay=$tree/config/overlay
mkdir "$overlay"
if [ -z "$namespaces" ]; then
  echo 'resources: [../default]'
else
  # Like config/namespaced, for other namespaces.
  list=
  for namespace in ${namespaces//,/ }; do
    mkdir "$overlay/$namespace"
    printf 'namespace: %s\nresources: [../../namespaced/watched]\n' "$namespace" > "$overlay/$namespace/kustomization.yaml"
    list+=", $namespace"
  done
  cat <<EOF
resources: [../crd, ../namespaced/operator$list]
patches:
- target: {kind: Deployment}
  patch: |-
    - op: add
      path: /spec/template/spec/containers/0/env/-
      value: {name: WATCH_NAMESPACE, value: "$namespaces"}
EOF
fi > "$overlay/kustomization.yaml"
if [ "${WEBHOOK:-}" = true ]; then
  # The list of patches above goes on: the Memcacheds of other namespaces are not this operator's.
  [ -z "$namespaces" ] || cat <<EOF
- target: {kind: ValidatingWebhookConfiguration}
  patch: |-
    - op: add
      path: /webhooks/0/namespaceSelector
      value: {matchExpressions: [{key: kubernetes.io/metadata.name, operator: In, values: [${namespaces//,/, }]}]}
EOF
fi >> "$overlay/kustomization.yaml"
{
  echo components:
  [ "${WEBHOOK:-}" != true ] || echo '- ../webhook'
  [ "${SITE:-}" != true ] || echo '- ../site'
} >> "$overlay/kustomization.yaml"
(cd "$overlay" && kustomize edit set image "memcached-operator=$image")
kustomize build "$overlay" | sed "s#value: memcached-operator-exporter:.*#value: $(hack/exporter-image.sh "$image")#"
