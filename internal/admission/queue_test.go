package admission

import (
	"context"
	"errors"
	"testing"
)

func newQueue(depth, drain int, host bool) *Queue {
	return NewQueue(Config{Depth: depth, MaxDrain: drain, Gate: NewGate("pixels", 1, 0), HostDriven: host})
}

func TestOneCallMoreThanTheDepthIsRefusedAtOnce(t *testing.T) {
	q := newQueue(2, 4, false)
	_, first, err := q.Enter(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := q.Enter(context.Background()); err != nil {
		t.Fatal(err)
	}
	_, _, err = q.Enter(context.Background())
	var full *FullError
	if !errors.As(err, &full) || full.Depth != 2 || full.Waiting != 2 {
		t.Fatalf("the third call: %v", err)
	}
	first.Leave()
	if _, _, err := q.Enter(context.Background()); err != nil {
		t.Errorf("after one left: %v", err)
	}
	q.Refuse()
	if _, _, err := q.Enter(context.Background()); !errors.Is(err, ErrStopping) {
		t.Errorf("while stopping: %v", err)
	}
}

func TestClientsAreServedRoundRobinWithABurst(t *testing.T) {
	var f fair[int]
	for i := range 5 {
		f.push("a", i)
	}
	f.push("b", 10)
	f.push("c", 20)
	var got []int
	for {
		v, ok := f.pop(2)
		if !ok {
			break
		}
		got = append(got, v)
	}
	want := []int{0, 1, 10, 20, 2, 3, 4}
	for i := range want {
		if len(got) != len(want) || got[i] != want[i] {
			t.Fatalf("served %v, want %v", got, want)
		}
	}
}

func TestAGateLosesNoPlaceToACancelledWaiter(t *testing.T) {
	g := NewGate("model", 1, 1)
	if err := g.Acquire(context.Background(), "a", 1); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	waited := make(chan error)
	go func() { waited <- g.Acquire(ctx, "b", 1) }()
	for _, n := g.Load(); n == 0; _, n = g.Load() {
	}
	var full *GateFullError
	if err := g.Acquire(context.Background(), "c", 1); !errors.As(err, &full) {
		t.Errorf("a second waiter: %v", err)
	}
	cancel()
	if err := <-waited; !errors.Is(err, context.Canceled) {
		t.Errorf("the cancelled waiter: %v", err)
	}
	g.Release()
	if err := g.Acquire(context.Background(), "d", 1); err != nil {
		t.Errorf("the place was lost: %v", err)
	}
}

func TestPixelWorkWaitsForDrain(t *testing.T) {
	q := newQueue(8, 2, true)
	results := make(chan int, 3)
	for i := range 3 {
		ctx, call, err := q.Enter(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			defer call.Leave()
			if call.Start(ctx) == nil && call.Pixels(ctx, func() {}) == nil {
				results <- i
			}
		}()
	}
	for _, want := range []int{2, 1, 0} {
		n, err := q.Drain(context.Background())
		if err != nil || n != want {
			t.Fatalf("Drain started %d (%v), want %d", n, err, want)
		}
		if len(results) < want {
			t.Errorf("%d results after a Drain of %d", len(results), want)
		}
	}
	if err := q.Wait(context.Background()); err != nil || len(results) != 3 {
		t.Errorf("%d results, %v", len(results), err)
	}
}
