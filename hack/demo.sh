#!/usr/bin/env bash
# The operator at work, on a control plane that this script starts and stops.
# `cluster run` does both, also after Ctrl-C; the rest of the script runs inside.
set -euo pipefail
cd "$(dirname "$0")/.."
export PATH="$PWD/bin:$PWD/bin/kube:$PATH"
if [ "${1:-}" != inside ]; then
  printf '\n\033[1m==> Starting a Kubernetes control plane on loopback\033[0m (etcd, API server, controllers, scheduler, one simulated node)\n'
  unset KUBECONFIG
  bin/cluster run -- "$0" inside
  printf '\n\033[1m==> Everything is stopped and removed.\033[0m\n'
  exit
fi

work=$(dirname "$KUBECONFIG")
say() { printf '\n\033[1m==> %s\033[0m\n' "$*"; }
run() { printf '\033[2m$ %s\033[0m\n' "$*"; "$@"; }
# until_is WANT CMD…: run CMD until it prints WANT, for a minute at most.
until_is() {
  local want=$1 got; shift
  for _ in $(seq 600); do
    got=$("$@" 2>/dev/null) && [ "$got" = "$want" ] && return
    sleep 0.1
  done
  echo "demo: expected «$want» from: $* — got «$got»" >&2
  exit 1
}
nodes() { kubectl get memcached memcached-sample -o jsonpath='{.status.nodes}' | tr ',' '\n' | grep -c memcached-sample; }
replicas() { kubectl get deployment memcached-sample -o jsonpath='{.spec.replicas}'; }
remaining() { kubectl get deployments,services,poddisruptionbudgets,pods -l app.kubernetes.io/managed-by=memcached-operator -o name | wc -l; }

say "Installing the CustomResourceDefinition, and the operator's own roles"
hack/operator-kubeconfig.sh "$work/operator.kubeconfig"
run kubectl get crd memcacheds.cache.example.com

say "Running the operator under those roles"
bin/memcached-operator --kubeconfig "$work/operator.kubeconfig" --metrics-bind-address=0 --health-probe-bind-address=0 \
  > "$work/operator.log" 2>&1 &
operator=$!
finish() {
  local status=$?
  [ "$status" = 0 ] || { echo "demo: failed; the operator's log:" >&2; tail -n 20 "$work/operator.log" >&2; }
  kill "$operator" 2>/dev/null || true
  wait "$operator" 2>/dev/null || true
}
trap finish EXIT
bin/memcached-operator --version

say "A Memcached of three pods"
run cat config/samples/cache_v1alpha1_memcached.yaml
run kubectl apply -f config/samples/cache_v1alpha1_memcached.yaml
run kubectl wait --for=condition=Ready --timeout=60s memcached/memcached-sample
run kubectl get deployment,service,poddisruptionbudget,pods -l app.kubernetes.io/managed-by=memcached-operator
run kubectl get memcached
run kubectl get memcached memcached-sample -o jsonpath='{.status.nodes}'
echo

say "Scaling 3 -> 5 through the Memcached"
run kubectl patch memcached memcached-sample --type=merge -p '{"spec":{"size":5}}'
until_is 5 nodes
run kubectl wait --for=condition=Ready --timeout=60s memcached/memcached-sample
run kubectl get memcached memcached-sample -o jsonpath='{.status.nodes}'
echo

say "Somebody scales the Deployment by hand; the operator puts it back"
run kubectl scale deployment memcached-sample --replicas=1
until_is 5 replicas
run kubectl wait --for=condition=Ready --timeout=60s memcached/memcached-sample
run kubectl get deployment memcached-sample
run kubectl get events --field-selector reason=Applied

say "Deleting the Memcached: what it owns goes with it"
run kubectl delete -f config/samples/cache_v1alpha1_memcached.yaml
until_is 0 remaining
run kubectl get deployments,services,poddisruptionbudgets,pods -l app.kubernetes.io/managed-by=memcached-operator

say "Stopping the operator"
kill "$operator"
wait "$operator"
