#!/usr/bin/env bash
# smoke.sh: see that the cluster of NODE_DIR does what tests need of it; a line for each thing.
set -euo pipefail
. "$(dirname "$0")/env.sh"
need_root
output=$dir/smoke.out
failed=0
# check WHAT CMD…
check() {
  if "${@:2}" > "$output" 2>&1; then
    echo "ok    $1"
  else
    echo "FAIL  $1: $(tail -n 3 "$output")"
    failed=1
  fi
}
k() { kubectl --namespace smoke "$@"; }
not() { ! "$@"; }
pods() { k get pods -l "app=$1" -o 'jsonpath={.items[*].metadata.name}'; }
# version CLIENT HOST: ask memcached for its version, from a pod.
version() { k exec "$1" -- sh -c "printf 'version\r\nquit\r\n' | nc -w 5 $2 11211" | grep VERSION; }
# as_service_account POD: the pod reaches the API server, and its token is good for what its
# account may do.
as_service_account() {
  k exec "$1" -- sh -c 'nc -w 5 kubernetes.default.svc 443 < /dev/null' &&
    "$bin/kube/kubectl" --kubeconfig /dev/null --server "$(kubectl config view -o 'jsonpath={.clusters[0].cluster.server}')" \
      --certificate-authority "$dir/pki/ca.crt" --namespace smoke get pods \
      --token "$(k exec "$1" -- cat /var/run/secrets/kubernetes.io/serviceaccount/token)"
}
# no_such_name POD NAME
no_such_name() { (k exec "$1" -- nslookup "$2" || true) 2>&1 | grep NXDOMAIN; }
forwarded() {
  local log=$dir/forward.log forward port status=0
  k port-forward service/address :11211 > "$log" 2>&1 &
  forward=$!
  for _ in $(seq 50); do
    port=$(sed -n 's/^Forwarding from 127.0.0.1:\([0-9]*\).*/\1/p' "$log")
    [ -z "$port" ] || break
    sleep 0.1
  done
  printf 'version\r\nquit\r\n' | socat -t 5 - "TCP:127.0.0.1:$port" | grep VERSION || status=1
  kill "$forward"
  return "$status"
}

kubectl create namespace smoke > /dev/null
k apply --server-side -f "$here/config/smoke.yaml" > /dev/null
k rollout status daemonset/memcached --timeout=60s > /dev/null
k rollout status daemonset/client --timeout=60s > /dev/null
read -ra memcacheds <<< "$(pods memcached)"
read -ra clients <<< "$(pods client)"

for i in "${!clients[@]}"; do
  client=${clients[$i]}
  where="$(k get pod "$client" -o 'jsonpath={.spec.nodeName}')"
  check "$where: logs" eval 'k logs "${memcacheds[$i]}" -c exporter | grep -i listening'
  check "$where: exec, a shell in memcached's image" eval 'k exec "${memcacheds[$i]}" -c memcached -- sh -c "kill -0 1 && id -u" | grep -x 11211'
  check "$where: exporter, through the API server" eval 'kubectl get --raw "/api/v1/namespaces/smoke/pods/${memcacheds[$i]}:9150/proxy/metrics" | grep "^memcached_up 1"'
  for memcached in "${memcacheds[@]}"; do
    check "$where: pod to pod" version "$client" "$(k get pod "$memcached" -o 'jsonpath={.status.podIP}')"
  done
  check "$where: headless Service names every pod" eval '[ "$(k exec "$client" -- nslookup headless.smoke.svc.cluster.local. | grep -c "^Address: 10.244")" = ${#memcacheds[@]} ]'
  # Several times, so that the pod of each node is chosen.
  for _ in 1 2 3 4 5 6; do check "$where: Service with an address" version "$client" address; done | sort -u
  check "$where: service account in a pod" as_service_account "$client"
  check "$where: a name outside does not exist" no_such_name "$client" example.org.
  check "$where: no way out of a pod" not k exec "$client" -- nc -w 2 192.0.2.1 80
  check "$where: no way out of the node" not in_node "${where#node}" busybox nc -w 2 192.0.2.1 80
done
check "port-forward, from the machine" forwarded
check "the audit log contains the requests of service accounts only" \
  eval 'grep -q system:serviceaccount:smoke:default "$dir/audit.log" && ! grep -q "\"username\":\"admin\"" "$dir/audit.log"'
kubectl delete namespace smoke --wait=false > /dev/null
exit "$failed"
