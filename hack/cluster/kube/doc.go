// Kube is a Kubernetes control plane with simulated nodes in one executable: etcd, kube-apiserver,
// kube-controller-manager, kube-scheduler, kubectl and kwok. The executable ../node has the programs of real nodes.
//
// Each program behaves as upstream's of the same version does, with one addition: it ends when its parent does, if
// CLUSTER_PARENT_PID is set.
package main
