#!/usr/bin/env bash
# init.sh N: be process 1 of node N, in network, mount and process namespaces of its own:
# start what a node runs, on node 1 the control plane as well. up.sh calls it.
set -euo pipefail
. "$(dirname "$0")/env.sh"
node=$1
own=$dir/node$node
run=/run/node

# /proc is still the machine's, so this is the process as the machine numbers it.
read -r pid _ < /proc/self/stat
echo "$pid" > "$own/pid"
mount -t proc proc /proc

# Programs keep their default paths, and find and leave nothing of the machine's there.
# Relative and not canonicalized, because NODE_DIR may itself be below one of them.
cd "$own"
mount --bind "$bin/kube" run/kube
mount --no-canonicalize --rbind run /run
mount --no-canonicalize --bind lib /var/lib
mount --no-canonicalize --bind log /var/log
cd /
# Pods may ask for mounts to be shared. This is no more than among the node and its pods.
mount --make-rshared /
# The kubelet insists on these, and they are the machine's: it sees them set as it likes.
for setting in vm/overcommit_memory=1 vm/panic_on_oom=0 kernel/panic=10 kernel/panic_on_oops=1 \
  kernel/keys/root_maxkeys=1000000 kernel/keys/root_maxbytes=25000000; do
  file=$run/sysctl/${setting%=*}
  mkdir -p "${file%/*}"
  echo "${setting#*=}" > "$file"
  mount --bind "$file" "/proc/sys/${setting%=*}"
done

# The node's address is on a bridge, to which up.sh connects the other nodes. There is no
# way from here to the machine or beyond.
ip link set lo up
ip link add node type bridge
ip address add "$(node_ip "$node")/24" dev node
ip link set node up
for other in $(seq "$nodes"); do
  [ "$other" = "$node" ] || ip route add "$(pod_subnet "$other")" via "$(node_ip "$other")"
done
# A process of the node looks for a route before kube-proxy can divert it to a pod.
ip route add "$service_subnet" dev node
echo 1 > /proc/sys/net/ipv4/ip_forward

# start PROGRAM ARGS…: in the background, with a log of its own.
start() { "$@" > "/var/log/${1##*/}.log" 2>&1 & }
api_ready() { /run/kube/kubectl --kubeconfig "$run/kubelet.kubeconfig" get --raw /readyz > /dev/null 2>&1; }

start containerd --config "$run/containerd.toml"
if [ "$node" = 1 ]; then
  start /run/kube/etcd --data-dir /var/lib/etcd --unsafe-no-fsync # nothing here outlives a power cut
  start /run/kube/kube-apiserver \
    --etcd-servers http://127.0.0.1:2379 \
    --advertise-address "$(node_ip 1)" \
    --allow-privileged \
    --service-cluster-ip-range "$service_subnet" \
    --authorization-mode Node,RBAC \
    --enable-admission-plugins NodeRestriction,OwnerReferencesPermissionEnforcement \
    --client-ca-file "$run/ca.crt" \
    --tls-cert-file "$run/kube-apiserver.crt" --tls-private-key-file "$run/kube-apiserver.key" \
    --kubelet-client-certificate "$run/kube-apiserver.crt" --kubelet-client-key "$run/kube-apiserver.key" \
    --kubelet-certificate-authority "$run/ca.crt" --kubelet-preferred-address-types InternalIP \
    --service-account-issuer https://kubernetes.default.svc \
    --service-account-key-file "$run/service-accounts.pub" --service-account-signing-key-file "$run/service-accounts.key" \
    --audit-policy-file "$run/audit.yaml" --audit-log-path /var/log/audit.log --audit-log-maxsize 10000
  # The one way in is a socket file, in a directory that the machine sees as well.
  start socat UNIX-LISTEN:/run/api.sock,fork,mode=600 TCP:127.0.0.1:6443
fi
until api_ready; do sleep 0.1; done
if [ "$node" = 1 ]; then
  # 20 requests a second, the default, make the start slow and large deletions take minutes.
  alone=(--secure-port=0 --leader-elect=false --kube-api-qps=1000 --kube-api-burst=2000)
  start /run/kube/kube-controller-manager "${alone[@]}" --kubeconfig "$run/kube-controller-manager.kubeconfig" \
    --use-service-account-credentials --root-ca-file "$run/ca.crt" \
    --service-account-private-key-file "$run/service-accounts.key"
  start /run/kube/kube-scheduler "${alone[@]}" --kubeconfig "$run/kube-scheduler.kubeconfig"
fi
start /run/kube/kubelet --config "$run/kubelet.yaml" --kubeconfig "$run/kubelet.kubeconfig" \
  --hostname-override "node$node" --node-ip "$(node_ip "$node")" --cgroup-root "/$cgroup/node$node"
start /run/kube/kube-proxy --config "$run/kube-proxy.yaml" --hostname-override "node$node"
# Orphans of the containers become children of process 1.
while :; do wait -n || true; sleep 0.1; done
