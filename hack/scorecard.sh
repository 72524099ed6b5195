#!/usr/bin/env bash
# scorecard.sh: run the Operator SDK's scorecard on bundle/, all tests of config/scorecard, in a namespace of its
# own on the cluster of KUBECONFIG, else kubectl's. Each test is a pod, so the nodes need its image, and
# to unpack the bundle UNTAR_IMAGE, any with tar that is not root's; else operator-sdk's own.
set -euo pipefail
cd "$(dirname "$0")/.."
export PATH="$PWD/bin:$PWD/bin/kube:$PATH"
namespace=$(kubectl create -o name -f - <<'END'
{apiVersion: v1, kind: Namespace, metadata: {generateName: scorecard-, labels: {pod-security.kubernetes.io/enforce: restricted}}}
END
)
namespace=${namespace#namespace/}
trap 'kubectl delete namespace "$namespace" --wait=false > /dev/null' EXIT
# The tests' pods use this account, which is made after the namespace.
kubectl wait --for=create serviceaccount/default --namespace "$namespace" --timeout=60s > /dev/null
operator-sdk scorecard bundle --namespace "$namespace" --pod-security restricted --wait-time 3m \
  ${UNTAR_IMAGE:+--untar-image "$UNTAR_IMAGE"}
