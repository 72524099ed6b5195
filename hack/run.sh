#!/usr/bin/env bash
# Run the operator in the foreground. Against the local control plane it runs under
# the roles that `make deploy` would give it; against a cluster of yours it is
# whoever your kubeconfig says.
set -euo pipefail
cd "$(dirname "$0")/.."
export PATH="$PWD/bin:$PWD/bin/kube:$PATH"
if [ -z "${KUBECONFIG:-}" ]; then
  echo "run: there is no cluster to run against; start one with \`make cluster-up\`, or set KUBECONFIG" >&2
  exit 1
fi
if [ ! -e "${KUBECONFIG%%:*}" ]; then
  echo "run: KUBECONFIG names ${KUBECONFIG%%:*}, which does not exist" >&2
  exit 1
fi
make --no-print-directory install
if [ "$KUBECONFIG" = "$CLUSTER_DIR/kubeconfig" ]; then
  hack/operator-kubeconfig.sh "$CLUSTER_DIR/operator.kubeconfig"
  export KUBECONFIG=$CLUSTER_DIR/operator.kubeconfig
fi
exec bin/memcached-operator --zap-devel --metrics-bind-address=0 --health-probe-bind-address=0 "$@"
