#!/usr/bin/env bash
# scorecard.sh: run the tests of config/scorecard for bundle/ with the Operator SDK's scorecard, in a temporary namespace of
# the cluster that kubectl is set to. Each test is a pod, so the nodes need its image and UNTAR_IMAGE, which unpacks the
# bundle: any image with tar and a non-root user (default: that of operator-sdk).
set -euo pipefail
cd "$(dirname "$0")/.."
export PATH="$PWD/bin:$PWD/bin/kube:$PATH"
namespace=$(kubectl create -o name -f - <<'END'
{apiVersion: v1, kind: Namespace, metadata: {generateName: scorecard-, labels: {pod-security.kubernetes.io/enforce: restricted}}}
END
)
namespace=${namespace#namespace/}
trap 'kubectl delete namespace "$namespace" --wait=false > /dev/null' EXIT
# The pods of the tests use this account, which is created after the namespace.
kubectl wait --for=create serviceaccount/default --namespace "$namespace" --timeout=60s > /dev/null
operator-sdk scorecard bundle --namespace "$namespace" --pod-security restricted --wait-time 3m \
  ${UNTAR_IMAGE:+--untar-image "$UNTAR_IMAGE"}
