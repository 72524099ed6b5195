#!/usr/bin/env bash
# up.sh: start a cluster of NODES (2) real nodes in NODE_DIR (.node): kubelet, containerd,
# runc, kube-proxy and CoreDNS in namespaces of their own. NODE_DIR/kubeconfig is its
# administrator's, from this machine.
set -euo pipefail
. "$(dirname "$0")/env.sh"
need_root
"$here/packages.sh" --check
for program in kube-apiserver kubelet kube-proxy; do
  [ -x "$bin/kube/$program" ] || fail "bin/kube/$program is missing; run \`make kube-node\`"
done
[[ $nodes =~ ^[1-9]$ ]] || fail "NODES is $nodes; it is how many nodes to start, 1 to 9"
"$repo/hack/progress.sh" "$here/images.sh"
[ -z "$(ls -A "$dir" 2>/dev/null)" ] ||
  fail "$dir is not empty: hack/node/down.sh removes the cluster that is there; else choose another NODE_DIR"

# step WHAT: what is said if it fails, and on record for when it takes long.
step() { doing=$*; echo "$SECONDS s: $doing" >> "$dir/up.log"; }
doing='preparing'
trap '[ $? = 0 ] || fail "failed while $doing; logs are $dir/up.log and $dir/node*/log; hack/node/down.sh removes it all"' EXIT
trap 'exit 130' INT TERM
# within SECONDS WHAT CMD…: wait until CMD succeeds.
within() {
  local end=$((SECONDS + $1))
  step "waiting for $2"
  until "${@:3}" > /dev/null 2>&1; do
    [ "$SECONDS" -lt "$end" ] || return 1
    sleep 0.1
  done
}

# join GROUP: move this process and its children to come into the cluster's cgroup GROUP.
join() {
  local hierarchy path part file
  for hierarchy in $(cgroup_hierarchies); do
    path=$hierarchy
    for part in "$cgroup" ${1//\// }; do
      # With cgroup v2 a group hands controllers on only when told; with v1 cpuset starts out empty.
      [ ! -e "$path/cgroup.subtree_control" ] || sed 's/\</+/g' "$path/cgroup.controllers" > "$path/cgroup.subtree_control"
      mkdir -p "$path/$part"
      for file in cpuset.cpus cpuset.mems; do
        [ "${hierarchy%/}" != /sys/fs/cgroup/cpuset ] || cat "$path/$file" > "$path/$part/$file"
      done
      path=$path/$part
    done
    echo "$BASHPID" > "$path/cgroup.procs"
  done
}

start_node() (
  join "node$1/programs"
  exec setsid unshare --net --mount --pid --propagation private --fork --kill-child "$here/init.sh" "$1"
)

mkdir -p "$dir"
touch "$dir/.node-cluster" # down.sh removes no directory without it
for i in $(seq "$nodes"); do mkdir -p "$dir/node$i"/{run/{lock,netns,node,kube},lib,log}; done
ln -s node1/log/audit.log "$dir/audit.log"
"$here/pki.sh"
for i in $(seq "$nodes"); do
  cp "$here"/config/{containerd.toml,kubelet.yaml,kube-proxy.yaml,audit.yaml} "$dir/node$i/run/node"
  sed "s#@POD_SUBNET@#$(pod_subnet "$i")#" "$here/config/cni.conflist" > "$dir/node$i/run/node/10-pods.conflist"
  start_node "$i" > "$dir/node$i/log/init.log" 2>&1 < /dev/null &
done
for i in $(seq "$nodes"); do
  within 120 "node $i's network" in_node "$i" ip link show node up
  [ "$i" != 1 ] || continue
  # A cable from this node's bridge to node 1's.
  nsenter --target "$(cat "$dir/node1/pid")" --net ip link add "to$i" type veth peer name to1 netns "$(cat "$dir/node$i/pid")"
  in_node 1 ip link set "to$i" master node up
  in_node "$i" ip link set to1 master node up
done

# The kernel chooses a free port; socat's log says which.
(
  join machine
  cd "$dir/node1/run" # the path of a socket may not be long
  exec setsid socat -d -d TCP-LISTEN:0,bind=127.0.0.1,fork UNIX-CONNECT:api.sock
) > "$dir/node1/log/port.log" 2>&1 < /dev/null &
port() { sed -n 's/.* listening on .*:\([0-9]*\)$/\1/p' "$dir/node1/log/port.log" | grep .; }
within 120 "a port for the API server" port
sed "s#https://[^\"]*#https://127.0.0.1:$(port)#" "$dir/pki/admin.kubeconfig" > "$dir/kubeconfig"

for i in $(seq "$nodes"); do within 120 "node $i's containerd" in_node "$i" ctr version; done
step 'loading images'
"$here/load.sh" "$cache"/images/*.tar
within 120 "the API server" kubectl get --raw /readyz
step 'installing CoreDNS'
sed "s/@VERSION@/$(sed -n 's/^coredns .*@v\([^ ]*\).*/\1/p' "$repo/hack/tools/programs.txt")/" "$here/config/coredns.yaml" |
  kubectl apply --server-side -f - > /dev/null
for i in $(seq "$nodes"); do
  within 120 "node $i to be Ready" kubectl wait --for=condition=Ready --timeout=10s "node/node$i"
done
step 'waiting for CoreDNS'
kubectl -n kube-system rollout status deployment/coredns --timeout=120s > /dev/null
echo "up after $SECONDS s; export KUBECONFIG=$dir/kubeconfig"
