// SPDX-License-Identifier: Apache-2.0

package template

// Changes returns the components that change each object for in, in the order in which they do. A component that adds an object
// does not change it. The change of a component that cannot be built without a later one is that one's.
func (t *Templates) Changes(in Input) map[ObjectID][]string {
	components := t.tree.withSite(in.Active(t.components))
	changes, before := map[ObjectID][]string{}, map[ObjectID]string{}
	for n := range len(components) + 1 {
		nodes, err := buildWith(t.tree, in, rootOf(components[:n]))
		if err != nil {
			continue
		}
		for _, node := range nodes {
			id, text := ObjectID{node.GetApiVersion(), node.GetKind(), node.GetName()}, node.MustString()
			if last, known := before[id]; known && last != text {
				changes[id] = append(changes[id], components[n-1])
			}
			before[id] = text
		}
	}
	return changes
}
