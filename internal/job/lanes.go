package job

import "slices"

// lanes are the jobs that wait to be run: first come first served within a
// client, clients in turn.
type lanes struct {
	turn []any // clients with waiting jobs, the next one first
	jobs map[any][]*entry
	n    int
}

func (l *lanes) push(e *entry) {
	if l.jobs == nil {
		l.jobs = map[any][]*entry{}
	}
	client := e.req.Client
	if len(l.jobs[client]) == 0 {
		l.turn = append(l.turn, client)
	}
	l.jobs[client] = append(l.jobs[client], e)
	l.n++
}

// pop takes the next job and gives the turn on.
func (l *lanes) pop() *entry {
	if l.n == 0 {
		return nil
	}
	client := l.turn[0]
	e := l.jobs[client][0]
	l.turn = l.turn[1:]
	if l.jobs[client] = l.jobs[client][1:]; len(l.jobs[client]) == 0 {
		delete(l.jobs, client)
	} else {
		l.turn = append(l.turn, client)
	}
	l.n--
	return e
}

// remove takes a job out, and reports whether it was waiting.
func (l *lanes) remove(e *entry) bool {
	client := e.req.Client
	i := slices.Index(l.jobs[client], e)
	if i < 0 {
		return false
	}
	if l.jobs[client] = slices.Delete(l.jobs[client], i, i+1); len(l.jobs[client]) == 0 {
		delete(l.jobs, client)
		l.turn = slices.DeleteFunc(l.turn, func(c any) bool { return c == client })
	}
	l.n--
	return true
}

// ahead is how many jobs start before this one, as things stand.
func (l *lanes) ahead(e *entry) int {
	round := slices.Index(l.jobs[e.req.Client], e)
	if round < 0 {
		return 0
	}
	n, before := 0, 1 // a client whose turn comes earlier is one job ahead
	for _, client := range l.turn {
		if client == e.req.Client {
			n += round
			before = 0
			continue
		}
		n += min(len(l.jobs[client]), round+before)
	}
	return n
}
