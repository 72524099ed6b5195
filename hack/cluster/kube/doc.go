// Kube is a whole Kubernetes control plane in one executable: etcd,
// kube-apiserver, kube-controller-manager, kube-scheduler, kubectl and kwok,
// told apart by the name the executable is called by.
//
// One executable, because linking is the slow part of building Kubernetes and
// because the programs share most of their code: one file of some 150 MB
// stands for six that would need 500.
//
// Each program behaves as upstream's of the same version does, with one
// addition: see watchParent.
package main
