package job

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// take reads events until there are no more.
func take(w *Watcher) []Event {
	var list []Event
	for {
		ev, ok := w.Next(context.Background())
		if !ok {
			return list
		}
		list = append(list, ev)
	}
}

func TestAJobsEventsComeInOrder(t *testing.T) {
	g := newGate()
	tab := table(t, Config{Run: func(ctx context.Context, k *Task) (json.RawMessage, error) {
		k.Phase("starting_model")
		k.Delta("The ")
		res, err := g.run(ctx, k)
		k.Phase("running")
		k.Delta("end")
		return res, err
	}})
	s := start(t, tab, Request{})
	<-g.begun
	w, err := tab.Watch(s.ID)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	close(g.open)
	var text, states strings.Builder
	seq := uint64(0)
	for i, ev := range take(w) {
		if ev.First != seq+1 || ev.Snapshot != (i == 0) {
			t.Errorf("event %d to %d after %d, snapshot %v", ev.First, ev.Seq, seq, ev.Snapshot)
		}
		seq = ev.Seq
		text.WriteString(ev.Delta)
		fmt.Fprintf(&states, "%s/%s ", ev.State, ev.Phase)
	}
	if text.String() != "The end" || !strings.HasPrefix(states.String(), "running/starting_model running/running ") || !strings.HasSuffix(states.String(), "completed/ ") {
		t.Errorf("%q, %s", text.String(), states.String())
	}

	late, err := tab.Watch(s.ID)
	if err != nil {
		t.Fatal(err)
	}
	if events := take(late); len(events) != 1 || events[0].State != Completed || events[0].Seq != seq {
		t.Errorf("a late watcher gets %+v", events)
	}
}

// Pieces of text join while nobody takes them, and nothing is lost.
func TestPiecesOfTextJoin(t *testing.T) {
	const pieces = 100_000
	synctest.Test(t, func(t *testing.T) {
		more := make(chan struct{})
		tab := table(t, Config{Run: func(context.Context, *Task) (json.RawMessage, error) {
			<-more
			return nil, nil
		}})
		s := start(t, tab, Request{})
		w, err := tab.Watch(s.ID)
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		tab.mu.Lock()
		e := tab.jobs[s.ID]
		tab.mu.Unlock()
		for range pieces {
			tab.delta(e, 1, "abcd")
		}
		close(more)
		text := 0
		events := take(w)
		for _, ev := range events {
			text += len(ev.Delta)
		}
		if text != 4*pieces || len(events) > 4 {
			t.Errorf("%d bytes in %d events", text, len(events))
		}
	})
}

func TestASlowWatcherLosesTheOldestAndNeverTheEnd(t *testing.T) {
	tab := table(t, Config{Run: func(_ context.Context, k *Task) (json.RawMessage, error) {
		for i := range 10_000 {
			k.Phase(fmt.Sprint(i))
		}
		return nil, nil
	}})
	one, err := tab.Watch("")
	if err != nil {
		t.Fatal(err)
	}
	defer one.Close()
	s := start(t, tab, Request{})
	wait(t, tab, s.ID)
	tab.Close(context.Background())
	events := take(one)
	gaps := 0
	for i := 1; i < len(events); i++ {
		if events[i].First != events[i-1].Seq+1 {
			gaps++
		}
	}
	last := events[len(events)-1]
	if len(events) != maxPending || last.State != Completed || last.Seq != 10_003 || events[0].First == 1 || gaps != 0 {
		t.Errorf("%d events, %d gaps, the last %s %d", len(events), gaps, last.State, last.Seq)
	}
	if dropped := tab.Stats().DroppedEvents; dropped != 10_003-maxPending {
		t.Errorf("%d dropped", dropped)
	}
}

func TestATextStartsAnewWithTheNextTry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tab := table(t, Config{Run: func(_ context.Context, k *Task) (json.RawMessage, error) {
			k.Delta(fmt.Sprintf("try %d", k.Attempt))
			if k.Attempt == 1 {
				return nil, &Failure{Code: "X", Retry: true}
			}
			return nil, nil
		}})
		s := start(t, tab, Request{})
		w, err := tab.Watch(s.ID)
		if err != nil {
			t.Fatal(err)
		}
		text := map[int]string{}
		for _, ev := range take(w) {
			text[ev.Attempt] += ev.Delta
		}
		if text[1] != "try 1" || text[2] != "try 2" {
			t.Errorf("%v", text)
		}
	})
}

func TestNextEndsWithItsContextAndWithClose(t *testing.T) {
	g := newGate()
	tab := table(t, Config{Run: g.run})
	s := start(t, tab, Request{})
	<-g.begun
	w, err := tab.Watch(s.ID)
	if err != nil {
		t.Fatal(err)
	}
	w.Next(context.Background()) // the snapshot
	ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	if _, ok := w.Next(ctx); ok {
		t.Error("an event came from nowhere")
	}
	ended := make(chan bool)
	go func() {
		_, ok := w.Next(context.Background())
		ended <- ok
	}()
	w.Close()
	w.Close()
	if <-ended {
		t.Error("an event came after Close")
	}
}
