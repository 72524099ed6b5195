#!/usr/bin/env bash
# bundle.sh VERSION IMG: generate the OLM bundle, bundle/ and bundle.Dockerfile, from config/ and the markers of the API. From
# the environment: CHANNELS, DEFAULT_CHANNEL, PLATFORMS (of the image) and optionally REPLACES (a version) and
# USE_IMAGE_DIGESTS=true.
set -euo pipefail
cd "$(dirname "$0")/.."
export PATH="$PWD/bin:$PATH"
version=$1 image=$2
name=memcached-operator
base=bases/$name.clusterserviceversion.yaml
fail() { echo "bundle: $*" >&2; exit 1; }
semver='(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?'
[[ $version =~ ^$semver$ ]] || fail "VERSION=$version is not a semantic version, such as 0.0.1"
[[ -z ${REPLACES:-} || $REPLACES =~ ^$semver$ ]] || fail "REPLACES=$REPLACES is not a semantic version, such as 0.0.1"
[[ ,$CHANNELS, == *,$DEFAULT_CHANNEL,* ]] || fail "DEFAULT_CHANNEL=$DEFAULT_CHANNEL is not one of CHANNELS=$CHANNELS"

# The overlay lies in a copy of config/, which others may be reading.
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
cp -R config "$tree"
overlay=$tree/config/overlay
mkdir "$overlay"
# Write a copy, to keep the hand-written base unchanged.
operator-sdk generate kustomize manifests --quiet --interactive=false --apis-dir apis --input-dir config/manifests --output-dir "$overlay"
{
  cat <<EOF
resources: [../manifests, $base]
replacements:
- source: {kind: Deployment, fieldPath: spec.template.spec.containers.0.image}
  targets:
  - select: {kind: ClusterServiceVersion}
    fieldPaths: [metadata.annotations.containerImage]
patches:
- target: {kind: ClusterServiceVersion}
  patch: |-
    apiVersion: operators.coreos.com/v1alpha1
    kind: ClusterServiceVersion
    metadata:
      name: _
      labels:
EOF
  for platform in ${PLATFORMS//,/ }; do echo "        operatorframework.io/arch.${platform#*/}: supported"; done
  if [ "${USE_IMAGE_DIGESTS:-}" = true ]; then
    echo '      annotations:'
    echo '        features.operators.openshift.io/disconnected: "true"'
    echo "        operators.openshift.io/infrastructure-features: '[\"disconnected\"]'"
  fi
  [ -z "${REPLACES:-}" ] || printf '    spec:\n      replaces: %s.v%s\n' "$name" "$REPLACES"
} > "$overlay/kustomization.yaml"
(cd "$overlay" && kustomize edit set image "memcached-operator=$image")

# Generate in a temporary directory and replace the bundle only after validation.
mkdir "$overlay/new"
cp PROJECT "$overlay/new"
digests=
[ "${USE_IMAGE_DIGESTS:-}" != true ] || digests=--use-image-digests
kustomize build "$overlay" | sed "s#value: memcached-operator-exporter:.*#value: $(hack/exporter-image.sh "$image")#" | (
  cd "$overlay/new"
  operator-sdk generate bundle --quiet --version "$version" --channels "$CHANNELS" --default-channel "$DEFAULT_CHANNEL" $digests
) 2> "$overlay/log" || fail "$(tail -n 1 "$overlay/log")"
csv=$overlay/new/bundle/manifests/$name.clusterserviceversion.yaml
# OLM creates a Service for the webhook itself.
rm "$overlay/new/bundle/manifests/$name-webhook-service_v1_service.yaml"
# The generated time would differ in each run.
sed -i "s/^    createdAt: .*/$(grep '^    createdAt: ' "config/manifests/$base")/" "$csv"
# operator-sdk pins the images of containers, but not the annotation containerImage.
repository=${image%@*}
[[ ${repository##*/} != *:* ]] || repository=${repository%:*} # a colon before the last slash is a port
if [ -n "$digests" ] && pinned=$(grep -om1 "$repository@sha256:[0-9a-f]*" "$csv"); then
  sed -i "s|^    containerImage: .*|    containerImage: $pinned|" "$csv"
fi
go run ./hack/bundle ${digests:+--digests} "$overlay/new/bundle/manifests"
operator-sdk bundle validate "$overlay/new/bundle" --select-optional suite=operatorframework 2> "$overlay/log" || fail "$(cat "$overlay/log")"
! grep -q level=warning "$overlay/log" || fail "$(cat "$overlay/log")"
rm -rf bundle bundle.Dockerfile
mv "$overlay/new/bundle" "$overlay/new/bundle.Dockerfile" .
