// Cluster starts and stops a real Kubernetes control plane on this machine,
// without root, containers or the internet:
//
//	cluster up    --dir DIR        start one in the background
//	cluster down  --dir DIR        stop it and remove DIR
//	cluster serve [--dir DIR]      run one in the foreground, for tests
//	cluster run   [--dir DIR] -- CMD...   run CMD against one of its own
//
// # What runs
//
// etcd and kube-apiserver, started by controller-runtime's envtest; then
// kube-controller-manager, kube-scheduler and kwok, which plays the kubelet of
// simulated Nodes: pods are scheduled and become Running and Ready, though no
// container ever runs. RBAC and the admission plug-in
// OwnerReferencesPermissionEnforcement are on, service accounts have tokens.
// Everything listens on free ports of 127.0.0.1, so several clusters run side
// by side. The programs are the executable built from ./kube.
//
// # How the pieces fit
//
//	main.go         the commands; supervise: claim, start, use, stop, remove
//	up.go           the detached supervisor, and the way back down
//	run.go          a command and its exit code
//	workdir.go      the directory that holds everything, and who owns it
//	cluster.go      start and stop of the whole, in order
//	apiserver.go    etcd and kube-apiserver
//	controllers.go  the programs beside them, and their flags
//	nodes.go        simulated nodes, and when the cluster is ready to use
//	child.go        a child process, its log and its end
//
// # What is left behind
//
// No processes and no files, however it ends. A supervisor that can still act stops its children
// and removes the directory. One that is killed with SIGKILL cannot, so its
// children watch for their parent (see multicall/parent.go), and the next "up" or
// "down" clears the directory. Upstream's etcd and kube-apiserver, which
// KUBEBUILDER_ASSETS may ask for, do not watch: those two end when they next
// write to their log, whose reader is gone. Outside of it there is only envtest's register
// of the ports in use, in the user's cache directory: empty files, by which
// clusters that start at the same moment keep out of each other's way.
package main
