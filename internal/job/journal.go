package job

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
)

// Names in the folder of a journal.
const (
	journalName = "jobs.journal"
	newName     = "jobs.journal.new"     // a compaction that is under way
	damagedName = "jobs.journal.damaged" // a file whose beginning could not be read
	lockName    = "lock"
	imagesName  = "images"
)

// compactAt is how many bytes of records that nobody needs make a rewrite
// worth it, when they are also more than half of the file.
const compactAt = 4 << 20

// file is what the journal does with its file.
type file interface {
	io.WriterAt
	io.ReaderAt
	Sync() error
	Truncate(size int64) error
	Close() error
}

// span is where a record lies.
type span struct{ at, size int64 }

// journal is an append-only file of records. Those that wait while others are
// written go together, with one fsync.
type journal struct {
	dir    string
	log    *slog.Logger
	header func() ([]byte, error) // the record that begins a file
	limit  int64                  // compactAt, or a test's

	mu      sync.Mutex
	f       file
	size    int64             // of the whole records in the file
	live    int64             // bytes of those that are needed
	spans   map[string][]span // the needed records of a job
	batch   *batch            // what waits to be written
	writing bool              // somebody writes
	broken  error             // why nothing can be written any more
	idle    *sync.Cond        // nobody writes
}

// batch is what is written at once.
type batch struct {
	data    []byte
	records []record
	sync    bool
	done    chan struct{}
	err     error
}

// record is one of a batch.
type record struct {
	job  string // "" when compaction may drop it
	size int64
}

func newJournal(dir string, log *slog.Logger, header func() ([]byte, error)) *journal {
	j := &journal{dir: dir, log: log, header: header, limit: compactAt, spans: map[string][]span{}}
	j.idle = sync.NewCond(&j.mu)
	return j
}

// open reads the file, giving every record to load, and cuts a torn end off. A
// file that is not there, or whose first record cannot be read, is begun anew.
func (j *journal) open(load func(k kind, line, raw []byte) (job string, err error)) error {
	path := filepath.Join(j.dir, journalName)
	os.Remove(filepath.Join(j.dir, newName))
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	length, err := f.Seek(0, io.SeekEnd)
	if err == nil {
		err = j.read(f, load)
	}
	if err != nil {
		return errors.Join(err, f.Close())
	}
	if j.size == 0 {
		if err := f.Close(); err != nil {
			return err
		}
		if length > 0 {
			j.log.Error("the journal of jobs cannot be read, it is set aside", "file", damagedName, "bytes", length)
			if err := os.Rename(path, filepath.Join(j.dir, damagedName)); err != nil {
				return err
			}
		}
		return j.rewrite()
	}
	if cut := length - j.size; cut > 0 {
		j.log.Warn("the journal of jobs had a torn end, which was cut off", "bytes", cut)
		if err := errors.Join(f.Truncate(j.size), f.Sync()); err != nil {
			return errors.Join(err, f.Close())
		}
	}
	j.f = f
	return nil
}

func (j *journal) read(f io.ReadSeeker, load func(kind, []byte, []byte) (string, error)) error {
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	r := bufio.NewReaderSize(f, 1<<16)
	for {
		k, line, raw, size, err := readRecord(r)
		if errors.Is(err, io.EOF) || errors.Is(err, errTorn) {
			return nil
		}
		if err != nil {
			return err
		}
		if j.size == 0 && k != kindHeader {
			return nil
		}
		job, err := load(k, line, raw)
		if err != nil {
			return fmt.Errorf("the record at byte %d: %w", j.size, err)
		}
		j.place(record{job, size})
	}
}

// place counts a record that has been written at the end.
func (j *journal) place(r record) {
	if r.job != "" {
		j.spans[r.job] = append(j.spans[r.job], span{j.size, r.size})
		j.live += r.size
	}
	j.size += r.size
}

// append writes a record and returns when it is in the file, and on disk when
// sync is set. Records that come meanwhile are written together by one of their
// writers.
func (j *journal) append(job string, data []byte, sync bool) error {
	j.mu.Lock()
	if j.broken != nil {
		defer j.mu.Unlock()
		return j.broken
	}
	if j.batch == nil {
		j.batch = &batch{done: make(chan struct{})}
	}
	b := j.batch
	b.data = append(b.data, data...)
	b.records = append(b.records, record{job, int64(len(data))})
	b.sync = b.sync || sync
	if j.writing {
		j.mu.Unlock()
		<-b.done
		return b.err
	}
	j.writing = true
	for j.batch != nil {
		j.flush()
	}
	if j.broken == nil && j.size-j.live > max(j.limit, j.size/2) {
		j.mu.Unlock()
		err := j.rewrite()
		j.mu.Lock()
		if err != nil {
			j.log.Error("the journal of jobs cannot be rewritten smaller", "error", err)
		}
	}
	for j.batch != nil { // what came during the rewrite
		j.flush()
	}
	j.writing = false
	j.idle.Broadcast()
	j.mu.Unlock()
	return b.err
}

// flush writes the waiting batch. It is called and returns locked.
func (j *journal) flush() {
	b, at, err := j.batch, j.size, j.broken
	j.batch = nil
	j.mu.Unlock()
	if err == nil {
		err = j.put(b, at)
	}
	j.mu.Lock()
	if err == nil {
		for _, r := range b.records {
			j.place(r)
		}
	}
	b.err = err
	close(b.done)
}

// put writes a batch at the end. After a failed write the file is cut back, so
// that no later record hides behind a torn one. A failed fsync is final: what of
// the file is on disk is not known then.
func (j *journal) put(b *batch, at int64) error {
	if _, err := j.f.WriteAt(b.data, at); err != nil {
		if cut := errors.Join(j.f.Truncate(at), j.f.Sync()); cut != nil {
			return j.fail(errors.Join(err, cut))
		}
		return fmt.Errorf("writing the journal of jobs: %w", err)
	}
	if b.sync {
		if err := j.f.Sync(); err != nil {
			return j.fail(err)
		}
	}
	return nil
}

func (j *journal) fail(err error) error {
	err = fmt.Errorf("the journal of jobs takes nothing more until the server restarts: %w", err)
	j.mu.Lock()
	j.broken = err
	j.mu.Unlock()
	j.log.Error(err.Error())
	return err
}

// forget says that a job's records are not needed any more.
func (j *journal) forget(job string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, s := range j.spans[job] {
		j.live -= s.size
	}
	delete(j.spans, job)
}

// moved is a record that a rewrite keeps.
type moved struct {
	job      string
	from, to span
}

// moves lists the needed records in their order, and the size of a file that
// has them alone after a head of the given size.
func (j *journal) moves(size int64) ([]moved, int64) {
	var list []moved
	for job, spans := range j.spans {
		for _, s := range spans {
			list = append(list, moved{job: job, from: s})
		}
	}
	slices.SortFunc(list, func(a, b moved) int { return cmp.Compare(a.from.at, b.from.at) })
	for i := range list {
		list[i].to = span{size, list[i].from.size}
		size += list[i].from.size
	}
	return list, size
}

// rewrite makes a new file of the needed records and puts it in the old one's
// place. Nothing else writes meanwhile.
func (j *journal) rewrite() error {
	header, err := j.header()
	if err != nil {
		return err
	}
	j.mu.Lock()
	moves, size := j.moves(int64(len(header)))
	j.mu.Unlock()
	f, err := os.OpenFile(filepath.Join(j.dir, newName), os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(header)
	for _, m := range moves {
		if err == nil {
			_, err = io.Copy(f, io.NewSectionReader(j.f, m.from.at, m.from.size))
		}
	}
	if err == nil {
		err = f.Sync()
	}
	if err != nil {
		return errors.Join(err, f.Close())
	}
	if err := j.swap(f); err != nil {
		return j.fail(err)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.size = size
	for job := range j.spans {
		j.spans[job] = j.spans[job][:0]
	}
	for _, m := range moves {
		if spans, needed := j.spans[m.job]; needed {
			j.spans[m.job] = append(spans, m.to)
		}
	}
	return nil
}

// swap puts a new file in the place of the old one, which is closed first:
// Windows renames over no open file.
func (j *journal) swap(f file) error {
	var err error
	if j.f != nil {
		err = j.f.Close()
	}
	j.f = f
	return errors.Join(err, os.Rename(filepath.Join(j.dir, newName), filepath.Join(j.dir, journalName)), syncDir(j.dir))
}

// close waits for what is being written and closes the file.
func (j *journal) close() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	for j.writing {
		j.idle.Wait()
	}
	if j.broken == nil {
		j.broken = ErrClosed
	}
	return j.f.Close()
}
