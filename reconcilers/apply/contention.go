// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"fmt"
	"sync"
	"time"

	ktypes "k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/lru"
)

const (
	// maxReverts is how often an object is reverted without a delay.
	maxReverts = 5
	// firstDelay is the delay after that, which doubles each time up to maxDelay.
	firstDelay = time.Second
	maxDelay   = 5 * time.Minute
	// revertsEnd is how long after its delay an object has to stay as it is to count as not
	// contended.
	revertsEnd = time.Minute
)

// ContentionError reports that something else changes an object back each time that it is
// written.
type ContentionError struct {
	Kind, Name string
	// Reverts is how often the object was reverted.
	Reverts int
	// Wait is how long it is left alone now. The message leaves it out, since a status with it
	// would be written again and again.
	Wait time.Duration
}

func (e *ContentionError) Error() string {
	return fmt.Sprintf("%s %s was reverted %d times, and something else changed it each time; it is left alone for up to %s before it is reverted again; metadata.managedFields names who else writes it",
		e.Kind, e.Name, e.Reverts, maxDelay)
}

// reverts counts how often objects are reverted to what was applied before. It is safe for
// use by many goroutines.
type reverts struct {
	now func() time.Time

	mu      sync.Mutex
	objects *lru.Cache
}

// revert is the last write of an object.
type revert struct {
	desired digest
	at      time.Time
	count   int
}

func newReverts(now func() time.Time) *reverts {
	return &reverts{now: now, objects: lru.New(maxAnswers)}
}

// wait returns how long the object must be left alone before desired is applied to it again,
// and how often it was reverted. The first times it is not left alone at all.
func (r *reverts) wait(object ktypes.UID, desired digest) (wait time.Duration, count int) {
	last, ok := r.objects.Get(object)
	if !ok || last.(revert).desired != desired {
		return 0, 0
	}
	revert := last.(revert)
	return max(0, revert.delay()-r.now().Sub(revert.at)), revert.count
}

// wrote notes that desired was applied to the object, which existed.
func (r *reverts) wrote(object ktypes.UID, desired digest) {
	r.mu.Lock()
	defer r.mu.Unlock()
	// The first write of an object that is known here puts it back, since creations are not noted.
	next := revert{desired: desired, at: r.now(), count: 1}
	if last, ok := r.objects.Get(object); ok {
		next.count = 0
		last := last.(revert)
		if last.desired == desired && next.at.Sub(last.at) < last.delay()+revertsEnd {
			next.count = last.count + 1
		}
	}
	r.objects.Add(object, next)
}

// delay returns how long the object is left alone after the write.
func (r revert) delay() time.Duration {
	if r.count < maxReverts {
		return 0
	}
	return min(maxDelay, firstDelay<<min(r.count-maxReverts, 16))
}
