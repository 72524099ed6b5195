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
	// maxReverts is the number of times that an object is reverted without a delay.
	maxReverts = 5
	// firstDelay is the delay after maxReverts. It doubles each time, up to maxDelay.
	firstDelay = time.Second
	maxDelay   = 5 * time.Minute
	// revertsEnd is the time after the delay without a change after which an object is not contended
	// any more.
	revertsEnd = time.Minute
)

// ContentionError reports that another writer changes an object each time that it is reverted.
type ContentionError struct {
	Kind, Name string
	// Reverts is the number of times that the object was reverted.
	Reverts int
	// Wait is the delay before the next revert. It is not in the message, so that the status does not
	// change all the time.
	Wait time.Duration
}

func (e *ContentionError) Error() string {
	return fmt.Sprintf("%s %s was reverted %d times and changed again each time; it is not reverted again for up to %s; metadata.managedFields names the other writer",
		e.Kind, e.Name, e.Reverts, maxDelay)
}

// reverts counts the reverts of objects. It is safe for use by many goroutines.
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

// wait returns the delay before desired may be applied to the object again, and the number of reverts.
// There is no delay for the first reverts.
func (r *reverts) wait(object ktypes.UID, desired digest) (wait time.Duration, count int) {
	last, ok := r.objects.Get(object)
	if !ok || last.(revert).desired != desired {
		return 0, 0
	}
	revert := last.(revert)
	return max(0, revert.delay()-r.now().Sub(revert.at)), revert.count
}

// wrote records that desired was applied to an existing object.
func (r *reverts) wrote(object ktypes.UID, desired digest) {
	r.mu.Lock()
	defer r.mu.Unlock()
	// The first recorded write of an object is a revert, since creations are not recorded.
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

// delay returns the delay before the next revert.
func (r revert) delay() time.Duration {
	if r.count < maxReverts {
		return 0
	}
	return min(maxDelay, firstDelay<<min(r.count-maxReverts, 16))
}
