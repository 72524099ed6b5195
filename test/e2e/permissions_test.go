// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"flag"
	"fmt"
)

// unused are permissions that these tests give the operator no cause to use, and why
// it has them.
var unused = map[string]string{
	"list /pods":                                     streamed,
	"list /services":                                 streamed,
	"list apps/deployments":                          streamed,
	"list policy/poddisruptionbudgets":               streamed,
	"list cache.example.com/memcacheds":              streamed,
	"patch /events":                                  "for an event of the leader election that repeats within minutes",
	"update cache.example.com/memcacheds/finalizers": "no request: the server asks for it where an object names an owner that blocks (OwnerReferencesPermissionEnforcement)",
	"delete apps/deployments":                        "for pruning: the shipped templates make one of it always",
	"delete /services":                               "for pruning: the shipped templates make one of it always",
	"delete policy/poddisruptionbudgets":             "for pruning: the shipped templates make one of it always",
}

// streamed: client-go fills a cache by a watch where the server can, and so asks for no list.
const streamed = "for API servers that cannot send a list by a watch (WatchList)"

// judgePermissions looks at what the operator was allowed and refused in all of the tests. A
// selection of tests uses a selection of permissions, so it judges whole runs only.
func judgePermissions(ctx context.Context) error {
	if selection := flag.Lookup("test.run").Value.String() + flag.Lookup("test.skip").Value.String(); selection != "" {
		fmt.Println("not all tests were run: not comparing the operator's permissions with its requests")
		return nil
	}
	return suite.operator.JudgeAudit(ctx, unused)
}
