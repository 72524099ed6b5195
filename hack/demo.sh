#!/usr/bin/env bash
# demo.sh [cluster]: show the operator at work, on a control plane that this script starts and stops or, with `cluster`, in
# the namespace memcached-demo of the cluster that kubectl is set to.
# `cluster run` starts and stops the control plane, also after Ctrl-C; the rest of the script runs inside it.
set -euo pipefail
cd "$(dirname "$0")/.."
export PATH="$PWD/bin:$PWD/bin/kube:$PATH"
. hack/lib.sh
say() { printf '\n\033[1m==> %s\033[0m\n' "$*"; }
run() { printf '\033[2m$ %s\033[0m\n' "${*//"${work:-}/"/}"; "$@"; }
# ticker: print a line every 4 seconds.
ticker() { local start=$SECONDS; while sleep 4 > /dev/null 2>&1; do echo "    … $((SECONDS - start)) s"; done; }
# wait_for WHAT CMD…: run CMD, and print what it waits for and how long it has taken so far. Fail if the operator ends before it.
wait_for() {
  echo "Waiting for $1 …"
  shift
  ticker & local ticker=$!
  set -m # A process group of its own, to end it as a whole.
  "$@" & local command=$! status=0
  set +m
  wait -n "$command" ${operator:+"$operator"} || status=$?
  kill "$ticker" 2> /dev/null || true
  wait "$ticker" 2> /dev/null || true
  kill -0 "$command" 2> /dev/null && fail 'the operator has ended'
  return "$status"
}
# until_is WANT CMD…: run CMD until it prints WANT, for 2 minutes at most.
until_is() {
  local want=$1 got='' deadline=$((SECONDS + 120)); shift
  while [ "$SECONDS" -lt "$deadline" ]; do
    got=$("$@" 2> /dev/null) && [ "$got" = "$want" ] && return
    sleep 0.1
  done
  fail "expected \"$want\" from: $*, got \"$got\""
}

mode=${1:-own}
if [ "$mode" = own ]; then
  say 'Starting a Kubernetes control plane on loopback: etcd, API server, controllers, scheduler, one simulated node'
  unset KUBECONFIG
  ticker & ticker=$!
  trap 'kill "$ticker" 2> /dev/null || true' EXIT
  # With --crds, because the garbage collector looks for new kinds only every 30 seconds.
  DEMO_TICKER=$ticker bin/cluster run --crds config/crd/bases -- "$0" inside
  say 'The control plane is stopped and its files are removed.'
  exit
fi
if [ "$mode" = inside ]; then
  kill "$DEMO_TICKER"
  work=$(dirname "$KUBECONFIG")
else
  refuse_second_operator
  say "Using the cluster of the context $(kubectl config current-context), namespace memcached-demo"
  work=$(mktemp -d)
  (umask 077 && kubectl config view --raw --flatten --minify > "$work/kubeconfig")
  export KUBECONFIG=$work/kubeconfig
  kubectl config set-context --current --namespace=memcached-demo > /dev/null
fi

operator=
finish() {
  local status=$? job
  for job in $(jobs -p); do [ "$job" = "$operator" ] || kill -- "-$job" 2> /dev/null || kill "$job" 2> /dev/null || true; done
  [ "$status" = 0 ] || { echo "demo: failed; the end of the operator's log:" >&2; tail -n 20 "$work/operator.log" >&2 || true; }
  stop_operator
  [ "$mode" = cluster ] || return 0
  # Remove only what this script has created.
  [ -z "${created:-}" ] || wait_for 'the namespace memcached-demo to be deleted' kubectl delete namespace memcached-demo || true
  [ -z "${installed:-}" ] || kubectl delete -f config/crd/bases || true
  rm -rf "$work"
}
stop_operator() {
  [ -z "$operator" ] || kill "$operator" 2> /dev/null || true
  [ -z "$operator" ] || wait "$operator" 2> /dev/null || true
  operator=
}
# start_operator FLAG…
start_operator() {
  bin/memcached-operator --kubeconfig "$work/operator.kubeconfig" --metrics-bind-address=0 --health-probe-bind-address=0 "$@" \
    > "$work/operator.log" 2>&1 &
  operator=$!
}
trap finish EXIT
trap 'exit 130' INT TERM

objects=deployments,services,poddisruptionbudgets,pods
managed=app.kubernetes.io/managed-by=memcached-operator
nodes() { kubectl get memcached memcached-sample -o jsonpath='{.status.nodes}' | tr ',' '\n' | grep -c memcached-sample; }
replicas() { kubectl get deployment memcached-sample -o jsonpath='{.spec.replicas}'; }
remaining() { kubectl get "$objects" -l "$managed" -o name | wc -l; }
policy() { kubectl get deployment memcached-sample -o jsonpath='{.spec.template.spec.containers[0].terminationMessagePolicy}'; }
ready() { wait_for 'all pods to be up to date and ready' run kubectl wait --for=condition=Ready --timeout=180s memcached/memcached-sample; }

if [ "$mode" = inside ]; then
  say "Installing the CustomResourceDefinition and the operator's roles"
  wait_for 'the API server' hack/operator-kubeconfig.sh "$work/operator.kubeconfig"
else
  say 'Installing the CustomResourceDefinition, unless it exists'
  kubectl create namespace memcached-demo
  created=yes
  if ! kubectl get crd memcacheds.cache.example.com > /dev/null 2>&1; then
    hack/install-crd.sh
    installed=yes
  fi
  cp "$KUBECONFIG" "$work/operator.kubeconfig"
fi
run kubectl get crd memcacheds.cache.example.com

say 'Starting the operator'
cp -r manifests "$work/templates"
flags=(--manifests-dir="$work/templates")
[ "$mode" = inside ] || flags+=(--watch-namespaces=memcached-demo)
start_operator "${flags[@]}"
bin/memcached-operator version

say 'Creating a Memcached with three pods'
run cat config/samples/cache_v1alpha1_memcached.yaml
run kubectl apply -f config/samples/cache_v1alpha1_memcached.yaml
ready
run kubectl get "$objects" -l "$managed"
run kubectl get memcached
run kubectl get memcached memcached-sample -o jsonpath='{.status.nodes}{"\n"}'

say 'Scaling from 3 to 5 pods'
run kubectl scale memcached memcached-sample --replicas=5
wait_for 'five pods in the status' until_is 5 nodes
ready
run kubectl get memcached memcached-sample -o jsonpath='{.status.nodes}{"\n"}'

say 'Scaling the Deployment by hand: the operator reverts the change'
run kubectl scale deployment memcached-sample --replicas=1
wait_for 'the operator to revert it' until_is 5 replicas
ready
run kubectl get deployment memcached-sample
run kubectl get events --field-selector reportingComponent=memcached-operator

say 'Editing a YAML template, a line for the pods of every Memcached; with a mistake at first'
cp -r manifests "$work/edited"
template=base/deployment.yaml
edit() { sed "s/^      - name: memcached$/&\n        $1: FallbackToLogsOnError/" "manifests/$template" > "$work/edited/$template"; }
edit terminationMessagePolici
run bin/memcached-operator check --manifests-dir="$work/edited" || true
edit terminationMessagePolicy
run diff "manifests/$template" "$work/edited/$template" || true
run bin/memcached-operator check --manifests-dir="$work/edited"

say 'What would it change in the cluster?'
run bin/memcached-operator diff --operator=none --manifests-dir="$work/edited" || true

say 'The running operator takes it over, without a rebuild or a restart'
run cp "$work/edited/$template" "$work/templates/$template"
wait_for 'the operator to take it over' until_is FallbackToLogsOnError policy
kubectl rollout status deployment/memcached-sample > /dev/null
ready
run kubectl get pods -l "$managed"
run kubectl get memcached

say 'Deleting the Memcached and, with it, all objects that it owns'
run kubectl delete -f config/samples/cache_v1alpha1_memcached.yaml
wait_for 'the garbage collector' until_is 0 remaining
run kubectl get "$objects" -l "$managed"

say 'Stopping the operator'
stop_operator
