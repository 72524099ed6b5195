// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// completeNames completes the argument at position by the names of the Memcacheds. Errors complete nothing: there is no
// place to show them.
func (p *program) completeNames(c *connection, position int) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
		if len(args) != position {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		s, err := c.open(p.dial)
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		memcacheds, err := s.List(cmd.Context(), s.namespace)
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		var names []string
		for _, mc := range memcacheds {
			names = append(names, mc.Name)
		}
		return beginningWith(begun, names), cobra.ShellCompDirectiveNoFileComp
	}
}

// beginningWith returns the names that begin with begun.
func beginningWith(begun string, names []string) []string {
	return slices.DeleteFunc(names, func(name string) bool { return !strings.HasPrefix(name, begun) })
}

// completeNamespaces completes --namespace.
func (p *program) completeNamespaces(c *connection) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
		s, err := c.open(p.dial)
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		names, err := s.Namespaces(cmd.Context())
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		slices.Sort(names)
		return beginningWith(begun, names), cobra.ShellCompDirectiveNoFileComp
	}
}

// completeFlags completes the flags of a cluster.
func (p *program) completeFlags(cmd *cobra.Command, c *connection) {
	_ = cmd.RegisterFlagCompletionFunc("namespace", p.completeNamespaces(c)) // the flag exists
}
