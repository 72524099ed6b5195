#!/usr/bin/env bash
# run.sh [FLAG…]: run the operator in the foreground against the cluster of KUBECONFIG. On the local control plane it runs
# with the roles that `make deploy` grants; on any other cluster with the permissions of the kubeconfig's user.
# PRIVILEGED=1 installs the policy for privileged fields and turns them on.
set -euo pipefail
cd "$(dirname "$0")/.."
export PATH="$PWD/bin:$PWD/bin/kube:$PATH"
. hack/lib.sh
[ -n "${KUBECONFIG:-}" ] || fail "no cluster configured: start a local one with \`make cluster-up\`, or set KUBECONFIG"
[ -e "${KUBECONFIG%%:*}" ] || fail "KUBECONFIG names ${KUBECONFIG%%:*}, which does not exist"
[[ " $*" == *" --watch-namespaces"* ]] || refuse_second_operator
hack/install-crd.sh

operator=${OPERATOR:-bin/memcached-operator} # tests have their own
flags=(--zap-devel --metrics-bind-address=0 --health-probe-bind-address=0)
[ -z "${PRIVILEGED:-}" ] || flags+=(--allow-privileged-fields)
if [ "$KUBECONFIG" != "$CLUSTER_DIR/kubeconfig" ]; then
  if [ -n "${PRIVILEGED:-}" ] && ! kubectl get validatingadmissionpolicy memcached-operator-privileged-fields > /dev/null 2>&1; then
    kubectl kustomize config/admission | kubectl apply --server-side -f -
  fi
  exec "$operator" "${flags[@]}" "$@"
fi

# These objects include the policy for privileged fields.
hack/operator-kubeconfig.sh "$CLUSTER_DIR/operator.kubeconfig" hack/local-identity
# The label of this binding makes the Helm chart refuse a second operator, so it must not outlive this one.
trap 'kubectl delete clusterrolebinding local-memcached-operator-manager-rolebinding --ignore-not-found > /dev/null' EXIT
set -m # a process group of its own: Ctrl-C reaches the operator once, through the trap
KUBECONFIG=$CLUSTER_DIR/operator.kubeconfig "$operator" "${flags[@]}" "$@" &
pid=$!
trap 'kill -TERM "$pid" 2> /dev/null' INT TERM HUP
status=0
while kill -0 "$pid" 2> /dev/null; do
  status=0
  wait "$pid" || status=$?
done
exit "$status"
