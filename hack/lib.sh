# shellcheck shell=bash
# Sourced by the scripts that a new user runs: demo.sh and run.sh.

# fail MESSAGE…: print the message with the name of the script and exit.
fail() { echo "$(basename "$0" .sh): $*" >&2; exit 1; }

# refuse_second_operator: exit if an operator runs in the cluster of KUBECONFIG, since two operators would revert each
# other's changes. It needs permission to list Deployments; without it, there is no check.
refuse_second_operator() {
  local running
  running=$(kubectl get deployments --all-namespaces -l app.kubernetes.io/name=memcached-operator,control-plane=controller-manager \
    -o jsonpath='{range .items[?(@.spec.replicas>0)]}{.metadata.namespace}/{.metadata.name} {.metadata.annotations.meta\.helm\.sh/release-name}{"\n"}{end}' \
    2> /dev/null | head -n 1) || return 0
  [ -n "$running" ] || return 0
  local deployment=${running%% *} release=${running#* }
  fail "the Deployment $deployment${release:+ of the Helm release $release} already runs an operator in this cluster, and two
operators would revert each other's changes. Stop it first:

  kubectl -n ${deployment%/*} scale deployment ${deployment#*/} --replicas=0"
}
