# shellcheck shell=bash disable=SC2034 # what the scripts use
# Sourced by the scripts beside it: where things are, what they are called, and how to
# get at a node. Of the environment it reads NODE_DIR, NODE_CACHE and NODES.
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
repo=$(cd "$here/../.." && pwd)
bin=$repo/bin
dir=$(realpath -m "${NODE_DIR:-$repo/.node}")           # the cluster: logs, certificates, data
cache=$(realpath -m "${NODE_CACHE:-$repo/.node-cache}") # images and build caches, for all clusters
nodes=${NODES:-2}

# On the machine a cluster has a cgroup and a free loopback port, nothing else by which
# two clusters could meet: its networks and sockets are in namespaces of its own.
cgroup=memcached-node-$(printf %s "$dir" | sha256sum | cut -c1-12)

# cgroup_hierarchies: the mounted ones: one with cgroup v2, one for each controller with v1.
cgroup_hierarchies() {
  if [ -e /sys/fs/cgroup/cgroup.controllers ]; then echo /sys/fs/cgroup; else printf '%s\n' /sys/fs/cgroup/*/; fi
}

node_ip() { echo "172.30.0.$(($1 + 1))"; }
pod_subnet() { echo "10.244.$1.0/24"; }
service_subnet=10.96.0.0/16
dns_ip=10.96.0.10

# in_node N CMD…: run CMD in the namespaces of node N.
in_node() { nsenter --target "$(cat "$dir/node$1/pid")" --net --mount --pid -- "${@:2}"; }

# kubectl as the administrator, from the machine.
kubectl() { "$bin/kube/kubectl" --kubeconfig "$dir/kubeconfig" "$@"; }

# busybox_into DIR: put busybox into DIR with a link for each of its commands, but replace nothing.
busybox_into() {
  cp /bin/busybox "$1/busybox"
  local command
  for command in $(busybox --list); do [ -e "$1/$command" ] || ln -s busybox "$1/$command"; done
}

fail() { echo "${0##*/}: $*" >&2; exit 1; }
need_root() { [ "$(id -u)" = 0 ] || fail "namespaces, cgroups and mounts need root: run it as root, or with sudo"; }
