// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"crypto/sha256"
	"encoding/json"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// checked is a state of an object and what was rendered for it, when the two were
// found to need nothing. It saves comparing them again, and only that: a fresh
// Applier comes to the same end without.
type checked struct {
	version  string
	rendered digest
}

// digest identifies a rendered object.
type digest [sha256.Size]byte

func newDigest(rendered *unstructured.Unstructured) digest {
	// Unstructured content always encodes, and json sorts its keys.
	content, _ := json.Marshal(rendered.Object)
	return sha256.Sum256(content)
}

// with identifies a rendered object and a gap that remains to it.
func (d digest) with(g gap) digest {
	return sha256.Sum256(append(d[:], g.fields+"\n"+g.values...))
}
