package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	// lockFile marks a directory as one of ours. The supervisor holds a lock
	// on it for as long as it lives, whatever becomes of it, so the process id
	// written there can be trusted while, and only while, the lock is held.
	lockFile = "cluster.lock"
	// readyFile appears when the cluster is ready to use; it holds what serve
	// prints.
	readyFile = "cluster.json"
	logsDir   = "logs"
	tempDir   = "tmp"

	// lockPatience outlasts another process that merely looks at the lock.
	lockPatience = time.Second
	pollInterval = 50 * time.Millisecond
)

// errInUse says that a supervisor is running in the directory.
var errInUse = errors.New("a cluster is already running there")

// A workDir is the directory that a cluster keeps everything in, claimed by
// this process.
type workDir struct {
	path string
	lock *os.File
	// temporary is set for a directory without a name from the user.
	temporary bool
}

// claimWorkDir makes the directory this process's own and clears what an
// earlier cluster left in it; an empty path asks for a temporary one. It
// refuses a directory that holds anything else, because clearing is not
// something to do to a directory named by mistake.
func claimWorkDir(path string) (*workDir, error) {
	temporary := path == ""
	var err error
	if temporary {
		path, err = os.MkdirTemp("", "cluster-")
	} else if path, err = filepath.Abs(path); err == nil {
		err = os.MkdirAll(path, 0o700)
	}
	if err != nil {
		return nil, fmt.Errorf("making the cluster's directory: %w", err)
	}
	if err := refuseForeign(path); err != nil {
		return nil, err
	}
	lock, err := os.OpenFile(filepath.Join(path, lockFile), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("marking the cluster's directory: %w", err)
	}
	d := &workDir{path: path, lock: lock, temporary: temporary}
	if !acquire(lock, lockPatience) {
		_ = lock.Close()
		return nil, fmt.Errorf("directory %s: %w", path, errInUse)
	}
	if err := errors.Join(d.writePID(), d.clear(), os.MkdirAll(d.in(logsDir), 0o700), os.MkdirAll(d.in(tempDir), 0o700)); err != nil {
		_ = lock.Close()
		return nil, fmt.Errorf("preparing the cluster's directory: %w", err)
	}
	return d, nil
}

// refuseForeign returns an error for a directory that holds something but is
// not marked as a cluster's.
func refuseForeign(path string) error {
	entries, err := os.ReadDir(path)
	if err != nil {
		return fmt.Errorf("reading the cluster's directory: %w", err)
	}
	if len(entries) == 0 {
		return nil
	}
	if _, err := os.Stat(filepath.Join(path, lockFile)); err != nil {
		return fmt.Errorf("directory %s contains files that do not belong to a cluster: use a new or an empty directory", path)
	}
	return nil
}

// in returns the path of a file in the directory.
func (d *workDir) in(elements ...string) string {
	return filepath.Join(append([]string{d.path}, elements...)...)
}

func (d *workDir) writePID() error {
	if err := d.lock.Truncate(0); err != nil {
		return err
	}
	_, err := d.lock.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	return err
}

// clear removes all but the mark and the logs.
func (d *workDir) clear() error {
	entries, err := os.ReadDir(d.path)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if entry.Name() == lockFile || entry.Name() == logsDir {
			continue
		}
		if err := removeAll(d.in(entry.Name())); err != nil {
			return err
		}
	}
	return nil
}

// announce writes what others need to use the cluster, in one step, so that
// readers never see half of it.
func (d *workDir) announce(a access) error {
	line, err := json.Marshal(a)
	if err != nil {
		return err
	}
	draft := d.in(readyFile + ".new")
	if err := os.WriteFile(draft, append(line, '\n'), 0o600); err != nil {
		return err
	}
	return os.Rename(draft, d.in(readyFile))
}

// unclaim lets another process have the directory.
func (d *workDir) unclaim() error {
	return d.lock.Close()
}

// remove deletes the directory and lets go of it. The mark goes last: without
// it the rest would look like files of another owner.
func (d *workDir) remove() error {
	return errors.Join(d.clear(), removeAll(d.in(logsDir)), removeAll(d.path), d.unclaim())
}

// keepLogs deletes all but the logs, for whoever wants to know what went
// wrong. Nobody would look into a temporary directory, so that goes whole.
func (d *workDir) keepLogs() error {
	if d.temporary {
		return d.remove()
	}
	return errors.Join(d.clear(), d.unclaim())
}

// supervisorPID returns the process id in a directory's lock file.
func supervisorPID(path string) (int, error) {
	content, err := os.ReadFile(filepath.Join(path, lockFile))
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(strings.TrimSpace(string(content)))
}

// acquire takes the lock within the given time and reports whether it could.
// The lock is the open file's: it is let go when the process ends, however
// that happens, and children do not inherit it.
func acquire(lock *os.File, patience time.Duration) bool {
	return poll(patience, func() bool {
		return syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil
	})
}

// removeAll is os.RemoveAll for a directory that a dying process may still be
// writing to.
func removeAll(path string) error {
	var err error
	poll(5*time.Second, func() bool {
		err = os.RemoveAll(path)
		return err == nil || errors.Is(err, fs.ErrPermission)
	})
	return err
}

// poll calls check until it holds or the time is over, and reports whether it
// held.
func poll(patience time.Duration, check func() bool) bool {
	for deadline := time.Now().Add(patience); !check(); time.Sleep(pollInterval) {
		if time.Now().After(deadline) {
			return false
		}
	}
	return true
}
