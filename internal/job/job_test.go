package job

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// table makes a table and closes it at the end.
func table(t *testing.T, c Config) *Table {
	t.Helper()
	tab, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stop(t, tab) })
	return tab
}

// stop closes a table without waiting for its jobs.
func stop(t *testing.T, tab *Table) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := tab.Close(ctx); err != nil {
		t.Error(err)
	}
}

func start(t *testing.T, tab *Table, r Request) Status {
	t.Helper()
	s, err := tab.Start(context.Background(), r)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func wait(t *testing.T, tab *Table, id string) Status {
	t.Helper()
	s, err := tab.Wait(context.Background(), id)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// echo answers with the arguments.
func echo(_ context.Context, k *Task) (json.RawMessage, error) { return k.Args, nil }

// gate lets tests decide when jobs go on.
type gate struct{ begun, open chan struct{} }

func newGate() gate { return gate{make(chan struct{}, 100), make(chan struct{})} }

func (g gate) run(ctx context.Context, k *Task) (json.RawMessage, error) {
	g.begun <- struct{}{}
	select {
	case <-g.open:
		return k.Args, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func TestAResultCanBeReadAgain(t *testing.T) {
	tab := table(t, Config{Run: echo})
	s := start(t, tab, Request{Tool: "echo", Args: json.RawMessage(`{"a":1}`)})
	if len(s.ID) != 32 || strings.Trim(s.ID, "0123456789abcdef") != "" {
		t.Errorf("the id %q is not 128 bits in hexadecimal", s.ID)
	}
	if end := wait(t, tab, s.ID); end.State != Completed || end.Attempt != 1 || !end.Expires.Equal(end.Updated.Add(DefaultTTL)) {
		t.Errorf("%+v", end)
	}
	for range 2 {
		if res, err := tab.Result(s.ID); err != nil || string(res) != `{"a":1}` {
			t.Errorf("%s, %v", res, err)
		}
	}
}

func TestIDsTellWhyTheyAreNotThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(time.UnixMilli(idOrigin + 1))) // a bubble's clock begins in the year 2000
		old := table(t, Config{Run: echo})
		before := start(t, old, Request{})
		time.Sleep(time.Second) // the next process begins later
		tab := table(t, Config{Run: echo, TTL: time.Minute})
		s := start(t, tab, Request{})
		wait(t, tab, s.ID)
		time.Sleep(time.Minute - time.Millisecond)
		if _, err := tab.Result(s.ID); err != nil {
			t.Errorf("before its time is over: %v", err)
		}
		time.Sleep(2 * time.Millisecond)
		forged := []byte(s.ID)
		forged[31] ^= 1
		for name, c := range map[string]struct {
			id   string
			want error
		}{
			"expired": {s.ID, ErrExpired}, "of an earlier process": {before.ID, ErrRestarted}, "forged": {string(forged), ErrUnknown},
			"not yet given": {tab.ids.spell(2), ErrUnknown}, "no id": {"job-1", ErrUnknown}, "invented": {strings.Repeat("f", 32), ErrUnknown},
		} {
			_, statusErr := tab.Status(c.id)
			_, watchErr := tab.Watch(c.id)
			if !errors.Is(statusErr, c.want) || !errors.Is(watchErr, c.want) {
				t.Errorf("%s: %v and %v, want %v", name, statusErr, watchErr, c.want)
			}
		}
		if n := tab.Stats().Retained; n != 0 {
			t.Errorf("%d jobs are retained", n)
		}
	})
}

func TestEndedJobsAreBounded(t *testing.T) {
	for name, c := range map[string]Config{
		"count": {Run: echo, MaxResults: 3, Workers: 1},
		"bytes": {Run: echo, MaxResultBytes: 30, Workers: 1},
	} {
		tab := table(t, c)
		var ids []string
		for i := range 10 {
			s := start(t, tab, Request{Args: json.RawMessage(fmt.Sprintf(`"%08d"`, i))})
			wait(t, tab, s.ID)
			ids = append(ids, s.ID)
		}
		if s := tab.Stats(); s.Retained != 3 || s.ResultBytes != 30 || s.InputBytes != 0 {
			t.Errorf("%s: %+v", name, s)
		}
		if _, err := tab.Result(ids[6]); !errors.Is(err, ErrExpired) {
			t.Errorf("%s: the oldest: %v", name, err)
		}
		if _, err := tab.Result(ids[7]); err != nil {
			t.Errorf("%s: the newest three: %v", name, err)
		}
	}
}

func TestAFullTableRefusesAtOnce(t *testing.T) {
	g := newGate()
	tab := table(t, Config{Run: g.run, Depth: 4, PerClient: 2, Workers: 1, MaxInputBytes: 100})
	start(t, tab, Request{Client: "a"})
	start(t, tab, Request{Client: "a"})
	for name, r := range map[string]Request{
		"the number of jobs of one client":          {Client: "a"},
		"the number of bytes in unfinished jobs":    {Client: "b", Images: [][]byte{make([]byte, 101)}},
		"the number of bytes in unfinished jobs is": {Args: make(json.RawMessage, 101)},
	} {
		_, err := tab.Start(context.Background(), r)
		var full *FullError
		if !errors.As(err, &full) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	start(t, tab, Request{Client: "b"})
	start(t, tab, Request{})
	_, err := tab.Start(context.Background(), Request{Client: "c"})
	var full *FullError
	if !errors.As(err, &full) || full.Max != 4 || full.Have != 4 {
		t.Errorf("the fifth: %v", err)
	}
	if s := tab.Stats(); s.Rejected != 4 || s.Waiting != 3 || s.Running != 1 {
		t.Errorf("%+v", s)
	}
}

func TestClientsTakeTurnsAndKnowTheirPlace(t *testing.T) {
	g := newGate()
	var mu sync.Mutex
	var order []string
	tab := table(t, Config{Workers: 1, Run: func(ctx context.Context, k *Task) (json.RawMessage, error) {
		mu.Lock()
		order = append(order, string(k.Args))
		mu.Unlock()
		return g.run(ctx, k)
	}})
	var ids []string
	add := func(client, name string) {
		ids = append(ids, start(t, tab, Request{Client: client, Args: json.RawMessage(name)}).ID)
	}
	add("a", "a0")
	<-g.begun // the rest waits
	for _, name := range []string{"a1", "a2", "a3", "b1", "c1", "c2"} {
		add(name[:1], name)
	}
	want := []string{"a0", "a1", "b1", "c1", "a2", "c2", "a3"}
	for i, id := range ids {
		s, err := tab.Status(id)
		if err != nil {
			t.Fatal(err)
		}
		name := []string{"a0", "a1", "a2", "a3", "b1", "c1", "c2"}[i]
		if place := max(0, slices.Index(want, name)-1); s.Position != place {
			t.Errorf("%s is at %d, want %d", name, s.Position, place)
		}
	}
	close(g.open)
	for _, id := range ids {
		wait(t, tab, id)
	}
	if !slices.Equal(order, want) {
		t.Errorf("order %v, want %v", order, want)
	}
}

func TestOnlyWhatCanHelpIsTriedAgain(t *testing.T) {
	for name, c := range map[string]struct {
		fails    int
		retry    bool
		attempts int
		state    State
	}{
		"recovers":         {1, true, 2, Completed},
		"recovers late":    {2, true, 3, Completed},
		"never":            {9, true, 3, Failed},
		"bad input":        {9, false, 1, Failed},
		"works at once":    {0, true, 1, Completed},
		"unmarked failure": {1, false, 1, Failed},
	} {
		synctest.Test(t, func(t *testing.T) {
			begun := time.Now()
			tab := table(t, Config{Run: func(_ context.Context, k *Task) (json.RawMessage, error) {
				if k.Attempt <= c.fails {
					return nil, fmt.Errorf("asking: %w", &Failure{Code: "MODEL_UNAVAILABLE", Message: "refused", Retry: c.retry})
				}
				return nil, nil
			}})
			s := wait(t, tab, start(t, tab, Request{}).ID)
			if s.State != c.state || s.Attempt != c.attempts {
				t.Errorf("%s: %s after %d tries, want %s after %d", name, s.State, s.Attempt, c.state, c.attempts)
			}
			low := []time.Duration{0, 750 * time.Millisecond, 2250 * time.Millisecond}[c.attempts-1]
			if took := time.Since(begun); took < low || took > low*5/3 {
				t.Errorf("%s: it took %s, want %s to %s", name, took, low, low*5/3)
			}
		})
	}
}

func TestAPanicFailsTheJobAlone(t *testing.T) {
	tab := table(t, Config{Run: func(_ context.Context, k *Task) (json.RawMessage, error) {
		if string(k.Args) == "1" {
			panic("boom")
		}
		return k.Args, nil
	}})
	bad, good := start(t, tab, Request{Args: json.RawMessage("1")}), start(t, tab, Request{Args: json.RawMessage("2")})
	if s := wait(t, tab, bad.ID); s.State != Failed || s.Failure.Code != CodeInternal {
		t.Errorf("%+v", s)
	}
	if s := wait(t, tab, good.ID); s.State != Completed {
		t.Errorf("%+v", s)
	}
}

func TestCancelReachesTheWork(t *testing.T) {
	g := newGate()
	tab := table(t, Config{Run: g.run, Workers: 1})
	running := start(t, tab, Request{})
	<-g.begun
	waiting := start(t, tab, Request{})
	for range 2 {
		if s, err := tab.Cancel(waiting.ID); err != nil || s.State != Cancelled {
			t.Errorf("waiting: %+v, %v", s, err)
		}
	}
	if _, err := tab.Cancel(running.ID); err != nil {
		t.Fatal(err)
	}
	s := wait(t, tab, running.ID)
	if _, err := tab.Result(running.ID); s.State != Cancelled || err == nil {
		t.Errorf("%+v, result %v", s, err)
	}
	if _, err := tab.Cancel("nothing"); !errors.Is(err, ErrUnknown) {
		t.Errorf("unknown: %v", err)
	}
}

func TestCancelDuringThePauseBeforeAnotherTry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tries := 0
		tab := table(t, Config{Run: func(context.Context, *Task) (json.RawMessage, error) {
			tries++
			return nil, &Failure{Code: "X", Retry: true}
		}})
		s := start(t, tab, Request{})
		synctest.Wait()
		if now, _ := tab.Status(s.ID); now.State != Queued || now.Phase != PhaseRetrying {
			t.Errorf("%+v", now)
		}
		if now, err := tab.Cancel(s.ID); err != nil || now.State != Cancelled {
			t.Errorf("%+v, %v", now, err)
		}
		time.Sleep(time.Minute)
		if tries != 1 {
			t.Errorf("%d tries", tries)
		}
	})
}

func TestTheSameKeyIsTheSameJob(t *testing.T) {
	var runs atomic.Int32
	tab := table(t, Config{Depth: 200, Run: func(_ context.Context, k *Task) (json.RawMessage, error) {
		runs.Add(1)
		return k.Args, nil
	}})
	ids := make([]string, 100)
	var group sync.WaitGroup
	for i := range ids {
		group.Go(func() {
			s, err := tab.Start(context.Background(), Request{Key: "k", Args: json.RawMessage("1"), Images: [][]byte{{1}}})
			if err != nil {
				t.Error(err)
			}
			ids[i] = s.ID
		})
	}
	group.Wait()
	wait(t, tab, ids[0])
	if different := slices.Compact(slices.Clone(ids)); runs.Load() != 1 || len(different) != 1 {
		t.Errorf("%d runs, ids %v", runs.Load(), different)
	}
	for name, r := range map[string]Request{
		"arguments": {Key: "k", Args: json.RawMessage("2"), Images: [][]byte{{1}}},
		"images":    {Key: "k", Args: json.RawMessage("1"), Images: [][]byte{{2}}},
	} {
		if _, err := tab.Start(context.Background(), r); !errors.Is(err, ErrConflict) {
			t.Errorf("other %s: %v", name, err)
		}
	}
	if id, err := tab.Lookup("k"); err != nil || id != ids[0] {
		t.Errorf("%s, %v", id, err)
	}
}

func TestDoWaitsUntilTheWorkLetsGo(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	left := false
	tab := table(t, Config{Run: func(work context.Context, k *Task) (json.RawMessage, error) {
		if string(k.Args) == "now" {
			return k.Args, nil
		}
		cancel()
		<-work.Done()
		left = true
		return nil, work.Err()
	}})
	if res, err := tab.Do(context.Background(), Request{Args: json.RawMessage("now")}); err != nil || string(res) != "now" {
		t.Errorf("%s, %v", res, err)
	}
	if _, err := tab.Do(ctx, Request{}); !errors.Is(err, context.Canceled) || !left {
		t.Errorf("%v, left %v", err, left)
	}
}

func TestCloseGivesJobsTheirTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tab, err := New(Config{Workers: 2, Run: func(ctx context.Context, k *Task) (json.RawMessage, error) {
			pause, _ := time.ParseDuration(string(k.Args))
			select {
			case <-time.After(pause):
				return nil, nil
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}})
		if err != nil {
			t.Fatal(err)
		}
		short, long, waiting := start(t, tab, Request{Args: json.RawMessage("1s")}), start(t, tab, Request{Args: json.RawMessage("1h")}), start(t, tab, Request{})
		all, err := tab.Watch("")
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		begun := time.Now()
		if err := tab.Close(ctx); err != nil || time.Since(begun) != 10*time.Second {
			t.Errorf("%v after %s", err, time.Since(begun))
		}
		for id, want := range map[string]State{short.ID: Completed, long.ID: Cancelled, waiting.ID: Cancelled} {
			if s, err := tab.Status(id); err != nil || s.State != want {
				t.Errorf("%s, %v, want %s", s.State, err, want)
			}
		}
		if _, err := tab.Start(context.Background(), Request{}); !errors.Is(err, ErrClosed) {
			t.Errorf("Start: %v", err)
		}
		if err := tab.Close(ctx); err != nil {
			t.Errorf("the second Close: %v", err)
		}
		n := 0
		for {
			if _, ok := all.Next(context.Background()); !ok {
				break
			}
			n++
		}
		if n != 3 {
			t.Errorf("%d events at the end, want the three last ones", n)
		}
	})
}

// A job that takes ten minutes is run once and stays in the table.
func TestALongJobRunsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		runs := 0
		tab := table(t, Config{TTL: time.Minute, Run: func(context.Context, *Task) (json.RawMessage, error) {
			runs++
			time.Sleep(10 * time.Minute)
			return nil, nil
		}})
		s := start(t, tab, Request{})
		time.Sleep(9 * time.Minute)
		if now, err := tab.Status(s.ID); err != nil || now.State != Running {
			t.Errorf("%+v, %v", now, err)
		}
		if end := wait(t, tab, s.ID); end.State != Completed || runs != 1 {
			t.Errorf("%+v after %d runs", end, runs)
		}
	})
}

func TestBadSettingsAreRefused(t *testing.T) {
	for name, c := range map[string]Config{
		"no Run": {}, "Depth": {Run: echo, Depth: -1}, "Workers": {Run: echo, Workers: -1}, "TTL": {Run: echo, TTL: -1}, "bytes": {Run: echo, MaxInputBytes: -1},
	} {
		if _, err := New(c); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
}

func BenchmarkJob(b *testing.B) {
	tab, err := New(Config{Run: echo, Depth: 1 << 20, MaxResults: 100})
	if err != nil {
		b.Fatal(err)
	}
	defer tab.Close(context.Background())
	image := make([]byte, 14<<10)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := tab.Do(context.Background(), Request{Images: [][]byte{image}}); err != nil {
			b.Fatal(err)
		}
	}
}
