// SPDX-License-Identifier: Apache-2.0

package render

// mirrorServiceAccount gives a pod template with a serviceAccountName the same
// serviceAccount, the name of that field until Kubernetes 1.2. The API server keeps it
// as a copy, and fills a missing serviceAccountName from it: unless we own both, the
// service account stays when it is no longer rendered.
func mirrorServiceAccount(object map[string]any) {
	pod, ok := lookup(object, []any{"spec", "template", "spec"}).(map[string]any)
	if !ok {
		return
	}
	delete(pod, "serviceAccount")
	if name, ok := pod["serviceAccountName"]; ok {
		pod["serviceAccount"] = name
	}
}
