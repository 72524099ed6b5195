package main

import (
	"fmt"
	"os"
	"path/filepath"
)

const (
	// assetsVariable names the directory that envtest takes etcd,
	// kube-apiserver and kubectl from when the user has set it.
	assetsVariable = "KUBEBUILDER_ASSETS"
	// buildTarget is the Makefile's target that makes the programs.
	buildTarget = "make kube"
)

// programs are the directories of the executables of the control plane.
type programs struct {
	bin         string // ours
	assets      string // the user's, or the same
	controllers bool   // whether more than etcd and the API server will run
}

// findPrograms checks that all needed programs exist. An empty bin means the directory
// "kube" beside this executable.
func findPrograms(o options) (programs, error) {
	bin := o.bin
	if bin == "" {
		self, err := os.Executable()
		if err != nil {
			return programs{}, fmt.Errorf("finding the directory of this executable: %w", err)
		}
		bin = filepath.Join(filepath.Dir(self), "kube")
	}
	bin, err := filepath.Abs(bin)
	if err != nil {
		return programs{}, fmt.Errorf("finding the directory of the programs: %w", err)
	}
	p := programs{bin: bin, assets: bin, controllers: !o.withoutControllers}
	if assets, set := os.LookupEnv(assetsVariable); set {
		p.assets = assets
	}
	return p, p.check()
}

// check returns an error for the first program that is missing.
func (p programs) check() error {
	for _, name := range []string{"etcd", "kube-apiserver", "kubectl"} {
		_, err := os.Stat(filepath.Join(p.assets, name))
		if err != nil && p.assets != p.bin {
			return fmt.Errorf("%s is a directory without %s; unset the variable to use bin/kube: %w", assetsVariable, name, err)
		}
		if err != nil {
			return fmt.Errorf("the control plane is not built; run %q, which takes minutes the first time: %w", buildTarget, err)
		}
	}
	if !p.controllers {
		return nil
	}
	for _, name := range []string{"kube-controller-manager", "kube-scheduler", "kwok"} {
		if _, err := os.Stat(p.path(name)); err != nil {
			return fmt.Errorf("the control plane is not built; run %q, which takes minutes the first time: %w", buildTarget, err)
		}
	}
	return nil
}

// path returns the executable of a program: the user's, if there is one, since controllers may be of
// the API server's version or older, not newer.
func (p programs) path(name string) string {
	if path := filepath.Join(p.assets, name); p.assets != p.bin {
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	return filepath.Join(p.bin, name)
}

// searchPath returns PATH with the programs before all others.
func (p programs) searchPath() string {
	path := p.bin + string(filepath.ListSeparator) + os.Getenv("PATH")
	if p.assets != p.bin {
		path = p.assets + string(filepath.ListSeparator) + path
	}
	return path
}
