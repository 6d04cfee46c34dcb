package imaging

import "context"

// Median replaces each colour channel of m by the median of the square of that
// radius in pixels (1 is 3x3). Edge pixels repeat outward; transparency stays.
//
// # Errors
//
// The cause of ctx when it ends first; m is then as it was.
func Median(ctx context.Context, m *Image, radius int) error {
	out := newLike(m, m.Width(), m.Height())
	var err error
	if radius == 1 {
		err = median3(ctx, m, out)
	} else {
		err = medianWide(ctx, m, out, radius)
	}
	if err == nil {
		*m = *out
	}
	return err
}

// median3 sorts each column of three once, and takes the median of nine from
// the sorted columns: that of the greatest least, the middle middle and the
// least greatest.
func median3(ctx context.Context, m, out *Image) error {
	n, h := 4*m.Width(), m.Height()
	low, mid, high := make([]byte, n+8), make([]byte, n+8), make([]byte, n+8) // with the edges repeated
	for y := range h {
		if y%contextRows == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		a, b, c := m.row(max(0, y-1)), m.row(y), m.row(min(h-1, y+1))
		for i, v := range b {
			u, w := a[i], c[i]
			least, most := min(u, v), max(u, v)
			low[i+4], mid[i+4], high[i+4] = min(least, w), max(least, min(most, w)), max(most, w)
		}
		for _, line := range [][]byte{low, mid, high} {
			copy(line, line[4:8])
			copy(line[n+4:], line[n:n+4])
		}
		dst := out.row(y)
		for i := range dst {
			lows := max(low[i], low[i+4], low[i+8])
			highs := min(high[i], high[i+4], high[i+8])
			dst[i] = middle(lows, middle(mid[i], mid[i+4], mid[i+8]), highs)
		}
		for i := 3; i < n; i += 4 {
			dst[i] = b[i]
		}
	}
	return nil
}

func middle(a, b, c byte) byte { return max(min(a, b), min(max(a, b), c)) }

// medianWide slides a histogram along each row, which keeps the cost linear in
// the radius (Huang, Yang, Tang 1979).
func medianWide(ctx context.Context, m, out *Image, radius int) error {
	w, h := m.Width(), m.Height()
	rows := make([][]byte, 2*radius+1)
	channels := 3
	if m.Gray {
		channels = 1
	}
	for y := range h {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		for i := range rows {
			rows[i] = m.row(max(0, min(h-1, y+i-radius)))
		}
		dst := out.row(y)
		for c := range channels {
			var s slidingMedian
			for x := -radius; x < radius; x++ {
				s.column(rows, 4*max(0, min(w-1, x))+c, 1)
			}
			for x := range w {
				s.column(rows, 4*min(w-1, x+radius)+c, 1)
				dst[4*x+c] = s.median()
				s.column(rows, 4*max(0, x-radius)+c, -1)
			}
		}
		for x, p := 0, m.row(y); x < len(dst); x += 4 {
			if channels == 1 {
				dst[x+1], dst[x+2] = dst[x], dst[x]
			}
			dst[x+3] = p[x+3]
		}
	}
	return nil
}

// slidingMedian keeps a histogram and the count below its current level.
type slidingMedian struct {
	counts [256]int32
	total  int32
	level  int
	below  int32
}

// column takes the samples at offset at in all rows in or out.
func (s *slidingMedian) column(rows [][]byte, at int, by int32) {
	for _, row := range rows {
		v := row[at]
		s.counts[v] += by
		if int(v) < s.level {
			s.below += by
		}
	}
	s.total += by * int32(len(rows))
}

func (s *slidingMedian) median() byte {
	half := s.total / 2
	for s.below > half {
		s.level--
		s.below -= s.counts[s.level]
	}
	for s.below+s.counts[s.level] <= half {
		s.below += s.counts[s.level]
		s.level++
	}
	return byte(s.level)
}
