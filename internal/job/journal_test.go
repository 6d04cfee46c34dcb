package job

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// never is work that lasts until it is stopped.
func never(ctx context.Context, _ *Task) (json.RawMessage, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// folder is a private one.
func folder(t *testing.T) string {
	t.Helper()
	return filepath.Join(t.TempDir(), "jobs")
}

func TestAJournalKeepsJobs(t *testing.T) {
	dir := folder(t)
	tab := table(t, Config{Dir: dir, Run: func(ctx context.Context, k *Task) (json.RawMessage, error) {
		switch k.Tool {
		case "good":
			return json.RawMessage("result <of> \n" + string(k.Args)), nil
		case "bad":
			return nil, &Failure{Code: "IMAGE_CORRUPT", Message: "cut", Body: json.RawMessage(`{"a":1}`)}
		}
		return never(ctx, k)
	}})
	good, bad := start(t, tab, Request{Tool: "good", Args: json.RawMessage("no\nJSON"), Key: "k"}), start(t, tab, Request{Tool: "bad"})
	wait(t, tab, good.ID)
	wait(t, tab, bad.ID)
	image := []byte("an image")
	open := start(t, tab, Request{Tool: "open", Args: json.RawMessage("7"), Images: [][]byte{image, image}, Client: "c"})
	stop(t, tab)

	next := table(t, Config{Dir: dir, Run: func(_ context.Context, k *Task) (json.RawMessage, error) {
		images, err := k.Images()
		if err != nil || len(images) != 2 || !bytes.Equal(images[1], image) || k.Attempt != 1 {
			return nil, fmt.Errorf("images %q, attempt %d, %w", images, k.Attempt, err)
		}
		return k.Args, nil
	}})
	if res, err := next.Result(good.ID); err != nil || string(res) != "result <of> \nno\nJSON" {
		t.Errorf("the result: %q, %v", res, err)
	}
	var f *Failure
	if _, err := next.Result(bad.ID); !errors.As(err, &f) || f.Code != "IMAGE_CORRUPT" || string(f.Body) != `{"a":1}` {
		t.Errorf("the failure: %v", err)
	}
	if s := wait(t, next, open.ID); s.State != Completed {
		t.Errorf("the open one: %+v", s)
	}
	if s := start(t, next, Request{Tool: "good", Args: json.RawMessage("no\nJSON"), Key: "k"}); s.ID != good.ID {
		t.Errorf("the key is a new job: %s", s.ID)
	}
	if s := start(t, next, Request{Tool: "good", Images: [][]byte{image, image}}); s.ID == good.ID || s.ID == bad.ID || s.ID == open.ID {
		t.Error("an id is given twice")
	}
}

func TestIDsOfAJournalExpireOverRestarts(t *testing.T) {
	dir := folder(t)
	tab := table(t, Config{Dir: dir, Run: echo})
	s := start(t, tab, Request{})
	wait(t, tab, s.ID)
	stop(t, tab)
	next := table(t, Config{Dir: dir, Run: echo, TTL: time.Nanosecond})
	if _, err := next.Result(s.ID); !errors.Is(err, ErrExpired) {
		t.Errorf("%v, want %v", err, ErrExpired)
	}
}

func TestImagesArePrivateSharedAndRemoved(t *testing.T) {
	dir := folder(t)
	g := newGate()
	tab := table(t, Config{Dir: dir, Run: g.run})
	image := []byte("an image")
	a, b := start(t, tab, Request{Images: [][]byte{image}}), start(t, tab, Request{Images: [][]byte{image, image}})
	list, err := os.ReadDir(filepath.Join(dir, imagesName))
	if err != nil || len(list) != 1 {
		t.Fatalf("%d image files, %v", len(list), err)
	}
	if info, err := list[0].Info(); err != nil || info.Mode().Perm()&0o077 != 0 || info.Size() != int64(len(image)) {
		t.Errorf("%v, %v", info, err)
	}
	if data, err := os.ReadFile(filepath.Join(dir, journalName)); err != nil || bytes.Contains(data, image) {
		t.Errorf("the journal holds an image, or %v", err)
	}
	if _, err := tab.Cancel(a.ID); err != nil {
		t.Fatal(err)
	}
	wait(t, tab, a.ID)
	if list, _ := os.ReadDir(filepath.Join(dir, imagesName)); len(list) != 1 {
		t.Error("the image is gone while a job needs it")
	}
	close(g.open)
	wait(t, tab, b.ID)
	if list, _ := os.ReadDir(filepath.Join(dir, imagesName)); len(list) != 0 {
		t.Error("the image is there when no job needs it")
	}
}

// The journal is cut after every byte of its last three records, and each of
// their bytes is changed in turn: whole records before the damage count, and the
// table goes on.
func TestATornEndIsCutOff(t *testing.T) {
	dir := folder(t)
	g := newGate()
	tab := table(t, Config{Dir: dir, Run: g.run, Workers: 1})
	var sizes []int64
	var ids []string
	for i := range 4 {
		ids = append(ids, start(t, tab, Request{Args: json.RawMessage(fmt.Sprint(i))}).ID)
		if i == 0 {
			<-g.begun // its start is in the journal too
		}
		sizes = append(sizes, tab.journalSize())
	}
	path := filepath.Join(dir, journalName)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	stop(t, tab)
	whole = whole[:sizes[3]]
	check := func(what string, data []byte, last int64) {
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		tab, err := New(Config{Dir: dir, Run: never, Workers: 1})
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		for i, id := range ids {
			_, err := tab.Status(id)
			if want := sizes[i] <= last; (err == nil) != want {
				t.Errorf("%s: job %d is there: %v, want %v", what, i, err == nil, want)
			}
		}
		after := start(t, tab, Request{})
		stop(t, tab)
		next, err := New(Config{Dir: dir, Run: never})
		if err != nil {
			t.Fatalf("%s: the second time: %v", what, err)
		}
		if _, err := next.Status(after.ID); err != nil {
			t.Errorf("%s: a job started afterwards: %v", what, err)
		}
		stop(t, next)
	}
	step := int64(1)
	if testing.Short() {
		step = 17
	}
	for cut := sizes[0]; cut < sizes[3]; cut += step {
		check(fmt.Sprintf("cut at %d", cut), whole[:cut], cut)
	}
	for at := sizes[2]; at < sizes[3]; at += step {
		damaged := bytes.Clone(whole)
		damaged[at] ^= 0x20
		check(fmt.Sprintf("byte %d changed", at), damaged, sizes[2])
	}
}

func TestAFileThatCannotBeReadIsSetAside(t *testing.T) {
	dir := folder(t)
	table(t, Config{Dir: dir, Run: echo}).Close(context.Background())
	if err := os.WriteFile(filepath.Join(dir, journalName), []byte("something else"), 0o600); err != nil {
		t.Fatal(err)
	}
	tab := table(t, Config{Dir: dir, Run: echo})
	wait(t, tab, start(t, tab, Request{}).ID)
	if data, err := os.ReadFile(filepath.Join(dir, damagedName)); err != nil || string(data) != "something else" {
		t.Errorf("%q, %v", data, err)
	}
}

// faulty is a file whose next writes and syncs fail.
type faulty struct {
	file
	mu          sync.Mutex
	write, sync error
	short       int // bytes that reach the file of a write that fails
	cut         error
	syncs       int
}

func (f *faulty) WriteAt(p []byte, at int64) (int, error) {
	f.mu.Lock()
	err := f.write
	f.mu.Unlock()
	if err == nil {
		return f.file.WriteAt(p, at)
	}
	n, _ := f.file.WriteAt(p[:min(len(p), f.short)], at)
	return n, err
}

func (f *faulty) Sync() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.syncs++
	return f.sync
}

func (f *faulty) Truncate(n int64) error {
	if f.cut != nil {
		return f.cut
	}
	return f.file.Truncate(n)
}

func (f *faulty) set(write, sync, cut error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.write, f.sync, f.cut = write, sync, cut
}

// swapFile puts a faulty file under a table's journal.
func swapFile(tab *Table) *faulty {
	tab.journal.mu.Lock()
	defer tab.journal.mu.Unlock()
	f := &faulty{file: tab.journal.f, short: 11}
	tab.journal.f = f
	return f
}

func TestAFullDiskRefusesJobsAndLeavesNoTornRecord(t *testing.T) {
	dir := folder(t)
	tab := table(t, Config{Dir: dir, Run: echo})
	f := swapFile(tab)
	first := start(t, tab, Request{})
	wait(t, tab, first.ID)
	f.set(syscall.ENOSPC, nil, nil)
	_, err := tab.Start(context.Background(), Request{Key: "k", Images: [][]byte{{1}}})
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("%v", err)
	}
	if s := tab.Stats(); s.Waiting != 0 || s.InputBytes != 0 {
		t.Errorf("%+v", s)
	}
	if list, _ := os.ReadDir(filepath.Join(dir, imagesName)); len(list) != 0 {
		t.Error("the refused job's image stays")
	}
	f.set(nil, nil, nil)
	second := start(t, tab, Request{Key: "k"})
	wait(t, tab, second.ID)
	stop(t, tab)
	next := table(t, Config{Dir: dir, Run: never})
	for _, id := range []string{first.ID, second.ID} {
		if s, err := next.Status(id); err != nil || s.State != Completed {
			t.Errorf("%+v, %v", s, err)
		}
	}
}

func TestAFailedSyncAndAFailedCutAreFinal(t *testing.T) {
	for name, set := range map[string]func(*faulty){
		"sync": func(f *faulty) { f.set(nil, syscall.EIO, nil) },
		"cut":  func(f *faulty) { f.set(syscall.ENOSPC, nil, syscall.EIO) },
	} {
		tab := table(t, Config{Dir: folder(t), Run: echo})
		f := swapFile(tab)
		set(f)
		if _, err := tab.Start(context.Background(), Request{}); !errors.Is(err, syscall.EIO) {
			t.Errorf("%s: %v", name, err)
		}
		f.set(nil, nil, nil)
		if _, err := tab.Start(context.Background(), Request{}); !errors.Is(err, syscall.EIO) || !strings.Contains(err.Error(), "restarts") {
			t.Errorf("%s, afterwards: %v", name, err)
		}
	}
}

// A job is acknowledged when its record has been synced, and jobs that come
// together share a sync.
func TestSubmitsAreSyncedInGroups(t *testing.T) {
	g := newGate()
	tab := table(t, Config{Dir: folder(t), Run: g.run, Depth: 1000, Workers: 1})
	f := swapFile(tab)
	start(t, tab, Request{})
	if f.syncs != 1 {
		t.Errorf("%d syncs before the first job was acknowledged", f.syncs)
	}
	<-g.begun
	f.mu.Lock() // a sync that takes long
	before := f.syncs
	var group sync.WaitGroup
	for range 100 {
		group.Go(func() { start(t, tab, Request{}) })
	}
	for { // until all but the first wait behind it
		tab.journal.mu.Lock()
		n := 0
		if tab.journal.batch != nil {
			n = len(tab.journal.batch.records)
		}
		tab.journal.mu.Unlock()
		if n == 99 {
			break
		}
		runtime.Gosched()
	}
	f.mu.Unlock()
	group.Wait()
	if n := f.syncs - before; n != 2 {
		t.Errorf("%d syncs for 100 jobs", n)
	}
}

func TestTheJournalIsRewrittenSmaller(t *testing.T) {
	dir := folder(t)
	tab := table(t, Config{Dir: dir, Run: func(ctx context.Context, k *Task) (json.RawMessage, error) {
		if len(k.Args) < 10 {
			return never(ctx, k)
		}
		return k.Args, nil
	}, MaxResults: 5, Workers: 4})
	tab.journal.limit = 10_000
	var open, ids []string
	for i := range 3 {
		open = append(open, start(t, tab, Request{Args: json.RawMessage(fmt.Sprint(i))}).ID)
	}
	for range 200 {
		s := start(t, tab, Request{Args: bytes.Repeat([]byte("x"), 1000)})
		wait(t, tab, s.ID)
		ids = append(ids, s.ID)
	}
	if size := tab.journalSize(); size > 40_000 {
		t.Errorf("%d bytes for 5 jobs of 2000 bytes", size)
	}
	stop(t, tab)
	next := table(t, Config{Dir: dir, Run: echo, Workers: 1, MaxResults: 8})
	for _, id := range open {
		if s := wait(t, next, id); s.State != Completed {
			t.Errorf("an open job: %+v", s)
		}
	}
	for i, id := range ids {
		_, err := next.Result(id)
		if i < 195 && !errors.Is(err, ErrExpired) || i >= 195 && err != nil {
			t.Errorf("job %d of 200: %v", i, err)
		}
	}
}

func (t *Table) journalSize() int64 {
	t.journal.mu.Lock()
	defer t.journal.mu.Unlock()
	return t.journal.size
}

func TestTwoTablesCannotShareAFolder(t *testing.T) {
	dir := folder(t)
	tab := table(t, Config{Dir: dir, Run: echo})
	if _, err := New(Config{Dir: dir, Run: echo}); err == nil || !strings.Contains(err.Error(), "another server") {
		t.Errorf("%v", err)
	}
	stop(t, tab)
	table(t, Config{Dir: dir, Run: echo})
}

func TestAFolderOpenToOthersIsRefused(t *testing.T) {
	dir := folder(t)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	link := dir + "-link"
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	for _, d := range []string{dir, link} {
		if _, err := New(Config{Dir: d, Run: echo}); err == nil {
			t.Errorf("%s is accepted", d)
		}
	}
}

// A job that ends its process is not tried for ever; one that a stop of the
// server cut short loses no try.
func TestTriesAreCountedOverRestarts(t *testing.T) {
	dir := folder(t)
	tab := table(t, Config{Dir: dir, Run: never})
	s := start(t, tab, Request{})
	stop(t, tab)
	for range 5 {
		next := table(t, Config{Dir: dir, Run: never})
		stop(t, next)
	}
	crashed := table(t, Config{Dir: dir, Run: never})
	if s, err := crashed.Status(s.ID); err != nil || s.Attempt > 1 {
		t.Errorf("after five stops: %+v, %v", s, err)
	}
	stop(t, crashed)
	j := newJournal(dir, crashed.c.Logger, crashed.header)
	if err := j.open(func(kind, []byte, []byte) (string, error) { return "", nil }); err != nil {
		t.Fatal(err)
	}
	data, err := encodeRecord(kindStart, began{s.ID, 3}, nil) // as left by a process that died during the third try
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(j.append(s.ID, data, true), j.close()); err != nil {
		t.Fatal(err)
	}
	last := table(t, Config{Dir: dir, Run: never})
	if end := wait(t, last, s.ID); end.State != Failed || !strings.Contains(end.Failure.Message, "3 times") {
		t.Errorf("%+v", end)
	}
}

func FuzzReadRecord(f *testing.F) {
	good, err := encodeRecord(kindEnd, finished{ID: "a"}, []byte("result"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add(good[:len(good)-1])
	f.Fuzz(func(t *testing.T, data []byte) {
		path := filepath.Join(t.TempDir(), journalName)
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		j := newJournal(filepath.Dir(path), (&Table{}).c.Logger, nil)
		file, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		if err := j.read(file, func(kind, []byte, []byte) (string, error) { return "", nil }); err != nil || j.size > int64(len(data)) {
			t.Errorf("%d of %d bytes, %v", j.size, len(data), err)
		}
	})
}

func BenchmarkDurableSubmit(b *testing.B) {
	tab, err := New(Config{Run: echo, Depth: 1 << 20, MaxResults: 100, Dir: filepath.Join(b.TempDir(), "jobs")})
	if err != nil {
		b.Fatal(err)
	}
	defer tab.Close(context.Background())
	b.SetParallelism(4) // 8 submitters on two processors
	var mu sync.Mutex
	var took []time.Duration
	n := byte(0)
	b.RunParallel(func(pb *testing.PB) {
		mu.Lock()
		n++
		image := bytes.Repeat([]byte{n}, 14<<10)
		mu.Unlock()
		for i := uint32(0); pb.Next(); i++ {
			image[0], image[1], image[2] = byte(i), byte(i>>8), byte(i>>16)
			begun := time.Now()
			if _, err := tab.Start(context.Background(), Request{Images: [][]byte{bytes.Clone(image)}}); err != nil {
				b.Error(err)
			}
			mu.Lock()
			took = append(took, time.Since(begun))
			mu.Unlock()
		}
	})
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)*95/100].Microseconds())/1000, "ms-p95")
}
