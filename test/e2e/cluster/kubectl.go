// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package cluster

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// Kubectl runs kubectl as a user would, and returns what it prints.
func (c *Cluster) Kubectl(t testing.TB, arguments ...string) string {
	t.Helper()
	output, err := c.kubectl(context.WithoutCancel(t.Context()), "", arguments...)
	Must(t, err)
	return output
}

// KubectlInput is Kubectl with something on standard input, for `-f -`.
func (c *Cluster) KubectlInput(t testing.TB, input string, arguments ...string) string {
	t.Helper()
	output, err := c.kubectl(context.WithoutCancel(t.Context()), input, arguments...)
	Must(t, err)
	return output
}

func (c *Cluster) kubectl(ctx context.Context, input string, arguments ...string) (string, error) {
	command := exec.CommandContext(ctx, "kubectl", arguments...)
	command.Env = append(os.Environ(), "KUBECONFIG="+c.Kubeconfig)
	command.Dir = Root()
	command.Stdin = strings.NewReader(input)
	var stdout, stderr bytes.Buffer
	command.Stdout, command.Stderr = &stdout, &stderr
	if err := command.Run(); err != nil {
		return stdout.String(), fmt.Errorf("kubectl %s: %w\n%s%s", strings.Join(arguments, " "), err, stdout.String(), stderr.String())
	}
	return stdout.String(), nil
}
