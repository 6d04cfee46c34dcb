package admission

import "slices"

// fair holds waiting items in one first-in-first-out lane per client and gives
// them out round robin over the lanes, with at most burst items of one lane in
// a row. It is not safe for concurrent use.
type fair[T comparable] struct {
	lanes map[any][]T
	turn  []any // clients with waiting items, the one being served first
	used  int   // items taken in a row from turn[0]
	n     int
}

func (f *fair[T]) len() int { return f.n }

func (f *fair[T]) push(client any, item T) {
	if f.lanes == nil {
		f.lanes = make(map[any][]T)
	}
	if len(f.lanes[client]) == 0 {
		f.turn = append(f.turn, client)
	}
	f.lanes[client] = append(f.lanes[client], item)
	f.n++
}

// pop takes the next item; ok is false when none waits.
func (f *fair[T]) pop(burst int) (item T, ok bool) {
	if len(f.turn) == 0 {
		return item, false
	}
	client := f.turn[0]
	item = f.lanes[client][0]
	f.take(client, 0)
	if len(f.turn) == 0 || f.turn[0] != client {
		return item, true // the lane ran empty; take has reset the count
	}
	if f.used++; f.used >= burst {
		f.turn = append(f.turn[1:], client)
		f.used = 0
	}
	return item, true
}

// remove takes item out of client's lane, wherever it stands, and reports
// whether it was there.
func (f *fair[T]) remove(client any, item T) bool {
	i := slices.Index(f.lanes[client], item)
	if i < 0 {
		return false
	}
	f.take(client, i)
	return true
}

func (f *fair[T]) take(client any, i int) {
	f.n--
	lane := slices.Delete(f.lanes[client], i, i+1)
	if len(lane) > 0 {
		f.lanes[client] = lane
		return
	}
	delete(f.lanes, client)
	at := slices.Index(f.turn, client)
	f.turn = slices.Delete(f.turn, at, at+1)
	if at == 0 {
		f.used = 0
	}
}

// ahead returns how many items will be given out before item, at most.
func (f *fair[T]) ahead(client any, item T) int {
	place := slices.Index(f.lanes[client], item)
	if place < 0 {
		return 0
	}
	before := place
	for other, lane := range f.lanes {
		if other != client {
			before += min(len(lane), place+1)
		}
	}
	return before
}
