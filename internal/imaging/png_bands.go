package imaging

// A band of rows shares a strategy, which a few rows from its middle choose.
const (
	bandRows   = 144
	sampleRows = 4
)

// leastSaving is what a strategy must save over the ones before it, which are
// faster, in bits a byte. Shares would mean nothing in an empty band.
var leastSaving = [strategies]float64{leftOnly: 0.01, perRow: 0.03}

// bands filters the rows of a picture. A page has flat parts, gradients and
// photographs beside each other, and no one way of filtering suits them all.
type bands struct {
	e         *pngEncoder
	filter    *rowFilter
	prev, cur []byte // raw rows
	use       strategy
	trial     *deflater
	sample    []byte // filtered rows of a trial
}

func newBands(e *pngEncoder, level Level, width int) *bands {
	return &bands{
		e: e, filter: newRowFilter(width, e.bpp), prev: make([]byte, width), cur: make([]byte, width),
		trial: newDeflater(nil, level, e.bpp, width+1),
	}
}

// choose compresses the sample of the band that starts at row y by each
// strategy. Palette indices have no distances to filter.
func (b *bands) choose(y int) {
	if b.e.colorType == colorPalette {
		return
	}
	h := b.e.m.Height()
	from := y + max(0, min(bandRows, h-y)-sampleRows)/2
	prev, cur := make([]byte, len(b.cur)), make([]byte, len(b.cur))
	least := 0.0
	for s := range strategies {
		clear(prev)
		if from > 0 {
			b.e.packRow(prev, from-1)
		}
		b.sample = b.sample[:0]
		for row := from; row < min(from+sampleRows, h); row++ {
			b.e.packRow(cur, row)
			b.sample = append(b.sample, b.filter.apply(s, cur, prev)...)
			prev, cur = cur, prev
		}
		b.trial.suit(s)
		if cost := b.trial.cost(b.sample); s == 0 || cost < least-leastSaving[s]*float64(len(b.sample)) {
			least, b.use = cost, s
		}
	}
}

// row returns row y, filtered. Rows come in order.
func (b *bands) row(y int) []byte {
	b.e.packRow(b.cur, y)
	line := b.filter.apply(b.use, b.cur, b.prev)
	b.prev, b.cur = b.cur, b.prev
	return line
}
