package main

import (
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func TestServeBringsAWholeControlPlane(t *testing.T) {
	s := startServer(t, "--nodes=4")
	api := connect(t, s.Kubeconfig)

	t.Run("a pod becomes Ready on a simulated node", func(t *testing.T) {
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "cache"},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "memcached", Image: "memcached"}}},
		}
		if err := api.Create(t.Context(), pod); err != nil {
			t.Fatal(err)
		}
		waitFor(t, "the pod to be Ready", func() bool {
			if err := api.Get(t.Context(), client.ObjectKeyFromObject(pod), pod); err != nil {
				t.Fatal(err)
			}
			for _, condition := range pod.Status.Conditions {
				if condition.Type == corev1.PodReady && condition.Status == corev1.ConditionTrue {
					return true
				}
			}
			return false
		})
		if pod.Status.PodIP == "" || pod.Spec.NodeName == "" {
			t.Errorf("pod IP %q on node %q: want both", pod.Status.PodIP, pod.Spec.NodeName)
		}
		if len(pod.Spec.Volumes) == 0 {
			t.Error("the pod has no token volume: the ServiceAccount admission plug-in is off")
		}
	})

	t.Run("the nodes lie in three zones", func(t *testing.T) {
		var nodes corev1.NodeList
		if err := api.List(t.Context(), &nodes); err != nil {
			t.Fatal(err)
		}
		zones := map[string]bool{}
		for _, node := range nodes.Items {
			zones[node.Labels[corev1.LabelTopologyZone]] = true
		}
		if len(nodes.Items) != 4 || len(zones) != 3 {
			t.Errorf("%d nodes in %d zones: want 4 in 3", len(nodes.Items), len(zones))
		}
	})

	t.Run("a service account gets a token that RBAC judges", func(t *testing.T) {
		kubectl := func(args ...string) string {
			cmd := exec.CommandContext(t.Context(), filepath.Join(binaries(t), "kubectl"), args...)
			cmd.Env = []string{"KUBECONFIG=" + s.Kubeconfig, "KUBECACHEDIR=" + t.TempDir()}
			out, _ := cmd.CombinedOutput() // "no" is exit status 1
			return strings.TrimSpace(string(out))
		}
		token := kubectl("create", "token", "default")
		if answer := kubectl("--token="+token, "auth", "whoami", "-o", "jsonpath={.status.userInfo.username}"); !strings.Contains(answer, "system:") {
			t.Errorf("the token belongs to %q", answer)
		}
		as := "--as=system:serviceaccount:default:default"
		if answer := kubectl(as, "auth", "can-i", "create", "deployments"); answer != "no" {
			t.Errorf("may an account without a role create Deployments? %q: want no", answer)
		}
	})

	t.Run("everything is below its directory", func(t *testing.T) {
		for _, name := range []string{"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kwok"} {
			if len(processes(t, "/"+name+" ", s.Dir)) != 1 {
				t.Errorf("want one %s with its files in %s", name, s.Dir)
			}
		}
	})

	t.Run("SIGTERM ends it and removes the directory", func(t *testing.T) {
		s.signal(t, syscall.SIGTERM)
		if status := s.wait(t); status != 0 {
			t.Errorf("exit status %d: want 0", status)
		}
		if exists(s.Dir) || len(processes(t, s.Dir)) > 0 {
			t.Errorf("left behind: directory %t, processes %v", exists(s.Dir), processes(t, s.Dir))
		}
	})
}

func TestServeSideBySide(t *testing.T) {
	servers := make(chan *server)
	for range 2 {
		go func() { servers <- startServer(t, "--without-controllers") }()
	}
	one, other := <-servers, <-servers

	// An object of one is not found in the other.
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "mine"}}
	if err := connect(t, one.Kubeconfig).Create(t.Context(), namespace); err != nil {
		t.Fatal(err)
	}
	if err := connect(t, other.Kubeconfig).Get(t.Context(), client.ObjectKey{Name: "mine"}, namespace); client.IgnoreNotFound(err) != nil || err == nil {
		t.Errorf("looking for the namespace of one cluster in the other: %v, want not found", err)
	}

	one.signal(t, syscall.SIGTERM)
	if status := one.wait(t); status != 0 {
		t.Errorf("exit status %d: want 0", status)
	}
	if err := connect(t, other.Kubeconfig).Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "still-there"}}); err != nil {
		t.Errorf("the end of one cluster has touched the other: %v", err)
	}
}

func TestServeEndings(t *testing.T) {
	for sentence, test := range map[string]struct {
		args   []string
		end    func(*testing.T, *server)
		status int
		// keptDir: a supervisor killed with SIGKILL cannot remove it.
		keptDir bool
	}{
		"Ctrl-C ends it cleanly": {
			end: func(t *testing.T, s *server) { s.signal(t, syscall.SIGINT) },
		},
		"the end of standard input ends it cleanly when asked for": {
			args: []string{"--until-stdin-closes"},
			end: func(t *testing.T, s *server) {
				if err := s.stdin.Close(); err != nil {
					t.Fatal(err)
				}
			},
		},
		"an etcd that dies ends it with an error": {
			end:    func(t *testing.T, s *server) { kill(t, "/etcd ", s.Dir) },
			status: 1,
		},
		"an API server that dies ends it with an error": {
			end:    func(t *testing.T, s *server) { kill(t, "/kube-apiserver ", s.Dir) },
			status: 1,
		},
		"a supervisor killed with SIGKILL leaves no process": {
			end:     func(t *testing.T, s *server) { s.signal(t, syscall.SIGKILL) },
			status:  -1,
			keptDir: true,
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			s := startServer(t, append(test.args, "--without-controllers")...)
			test.end(t, s)
			if status := s.wait(t); status != test.status {
				t.Errorf("exit status %d: want %d", status, test.status)
			}
			waitFor(t, "no process to be left", func() bool { return len(processes(t, s.Dir)) == 0 })
			if exists(s.Dir) != test.keptDir {
				t.Errorf("the directory is kept: %t, want %t", exists(s.Dir), test.keptDir)
			}
		})
	}
}

func TestControllerThatDiesIsNamed(t *testing.T) {
	dir := newDir(t)
	s := startServer(t, "--dir="+dir)
	kill(t, "/kube-scheduler ", dir)
	if status := s.wait(t); status != 1 {
		t.Errorf("exit status %d: want 1", status)
	}
	waitFor(t, "no process to be left", func() bool { return len(processes(t, dir)) == 0 })
	if !exists(filepath.Join(dir, logsDir, "kube-scheduler.log")) {
		t.Error("the logs are gone: want them kept in a directory that the user named")
	}
	if exists(s.Kubeconfig) {
		t.Error("the kubeconfig of a cluster that is gone is still there")
	}
}

// kill ends a program of a cluster by force.
func kill(t *testing.T, name, dir string) {
	t.Helper()
	for _, pid := range processes(t, name, dir) {
		if err := exec.CommandContext(t.Context(), "kill", "-KILL", pid).Run(); err != nil {
			t.Fatal(err)
		}
	}
}
