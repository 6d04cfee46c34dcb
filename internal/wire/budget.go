package wire

import "sync/atomic"

// DefaultBytesInFlight bounds the message bytes held by all edges together.
const DefaultBytesInFlight = 256 << 20

// Budget counts message bytes in flight over all connections that share it:
// request bytes until their answer is written, answer bytes until they are
// written. It is safe for concurrent use.
type Budget struct {
	max  int64
	used atomic.Int64
}

// NewBudget returns a budget of max bytes; 0 or less means
// [DefaultBytesInFlight].
func NewBudget(max int64) *Budget {
	if max <= 0 {
		max = DefaultBytesInFlight
	}
	return &Budget{max: max}
}

// TryAcquire takes n bytes, or takes none and reports false when they would
// exceed the maximum.
func (b *Budget) TryAcquire(n int64) bool {
	for {
		used := b.used.Load()
		if used+n > b.max {
			return false
		}
		if b.used.CompareAndSwap(used, used+n) {
			return true
		}
	}
}

// Acquire takes n bytes even beyond the maximum. It is for answers, which
// exist already: requests are refused instead until they are written.
func (b *Budget) Acquire(n int64) { b.used.Add(n) }

// Release gives n bytes back.
func (b *Budget) Release(n int64) { b.used.Add(-n) }

// Max returns the maximum in bytes.
func (b *Budget) Max() int64 { return b.max }

// Used returns the bytes taken at this moment.
func (b *Budget) Used() int64 { return b.used.Load() }
