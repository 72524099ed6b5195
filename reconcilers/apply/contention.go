// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	ktypes "k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/lru"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// freeWrites is the number of times that the same state is written again without a delay.
	freeWrites = 5
	// firstDelay is the delay after freeWrites. It doubles each time, up to maxDelay.
	firstDelay = time.Second
	maxDelay   = 3 * time.Minute
	// contentionEnd is the time after the delay without a write after which an object is not contended
	// any more.
	contentionEnd = time.Minute
	// maxContended bounds the number of objects whose last write is kept. Losing one costs freeWrites.
	maxContended = 1 << 12
)

// ContentionError reports that another writer undoes what is written each time.
type ContentionError struct {
	Kind, Name string
	// Undone is the number of times that the same state was written again.
	Undone int
	// Wait is the delay before the next write. It is not in the message, so that the status does not
	// change all the time.
	Wait time.Duration
}

func (e *ContentionError) Error() string {
	return fmt.Sprintf("%s %s was written %d times and changed, deleted or created again each time; it is left alone for up to %s between writes; metadata.managedFields names the other writer",
		e.Kind, e.Name, e.Undone, maxDelay)
}

// Contention counts the writes that others undo: creations, changes and deletions of objects, and writes of the status. It
// outlives an object, which others may delete each time. It is safe for use by many goroutines.
type Contention struct {
	now func() time.Time

	mu     sync.Mutex
	writes *lru.Cache // of lastWrite by Contended
}

// Contended identifies what is written.
type Contended struct {
	// Owner is the UID of the Memcached.
	Owner ktypes.UID
	Kind  schema.GroupKind
	Name  string
}

// lastWrite is the last write of an object.
type lastWrite struct {
	// state is a hash of what was written.
	state string
	at    time.Time
	// undone is how often state was written again.
	undone int
}

// NewContention returns a Contention without writes. now is time.Now, except in tests.
func NewContention(now func() time.Time) *Contention {
	return &Contention{now: now, writes: lru.New(maxContended)}
}

// contendedObject identifies object of owner.
func contendedObject(owner, object client.Object) Contended {
	return Contended{owner.GetUID(), object.GetObjectKind().GroupVersionKind().GroupKind(), object.GetName()}
}

// Check returns a *ContentionError if state may not be written to what yet, and nil otherwise.
func (c *Contention) Check(what Contended, state string) error {
	kept, _ := c.writes.Get(what)
	last, ok := kept.(lastWrite)
	if !ok || last.state != sum([]byte(state)) {
		return nil
	}
	if wait := last.delay() - c.now().Sub(last.at); wait > 0 {
		return &ContentionError{Kind: what.Kind.Kind, Name: what.Name, Undone: last.undone, Wait: wait}
	}
	return nil
}

// Record records that state was written to what.
func (c *Contention) Record(what Contended, state string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	next := lastWrite{state: sum([]byte(state)), at: c.now()}
	kept, _ := c.writes.Get(what)
	if last, ok := kept.(lastWrite); ok && last.state == next.state && next.at.Sub(last.at) < last.delay()+contentionEnd {
		next.undone = last.undone + 1
	}
	c.writes.Add(what, next)
}

// delay returns the delay before the next write.
func (w lastWrite) delay() time.Duration {
	if w.undone < freeWrites {
		return 0
	}
	return min(maxDelay, firstDelay<<min(w.undone-freeWrites, 16))
}
