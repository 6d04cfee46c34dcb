package job

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
)

// childFolder is the variable that makes the test binary a server of jobs.
const childFolder = "VISIONS_JOB_TEST_FOLDER"

// TestChild is the process that is killed: it says on standard output what it
// acknowledged, what it began and what it finished, each line in one write.
func TestChild(t *testing.T) {
	dir := os.Getenv(childFolder)
	if dir == "" {
		return // only as a child of TestAKilledProcessLosesNothing
	}
	var out sync.Mutex
	say := func(format string, args ...any) {
		out.Lock()
		defer out.Unlock()
		fmt.Fprintf(os.Stdout, format+"\n", args...)
	}
	tab, err := New(Config{Dir: dir, Workers: 2, Depth: 1 << 20, Run: func(_ context.Context, k *Task) (json.RawMessage, error) {
		say("began %s", k.ID)
		images, err := k.Images()
		if err != nil {
			return nil, err
		}
		return images[0], nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	for i := range 4 {
		group.Go(func() {
			for n := 0; ; n++ {
				s, err := tab.Start(context.Background(), Request{Images: [][]byte{fmt.Appendf(nil, "%d-%d-%d", os.Getpid(), i, n)}})
				if err != nil {
					say("error %v", err)
					return
				}
				say("acknowledged %s", s.ID)
				if _, err := tab.Wait(context.Background(), s.ID); err == nil {
					say("finished %s", s.ID)
				}
			}
		})
	}
	group.Wait()
}

// A kill at any moment loses no acknowledged job, and runs none again that was
// finished.
func TestAKilledProcessLosesNothing(t *testing.T) {
	dir := folder(t)
	random := rand.New(rand.NewPCG(1, 2))
	acknowledged, finished := map[string]bool{}, map[string]bool{}
	began := map[string]int{}
	note := func(line string) {
		what, id, _ := strings.Cut(line, " ")
		switch what {
		case "acknowledged":
			acknowledged[id] = true
		case "finished":
			finished[id] = true
		case "began":
			if began[id]++; finished[id] {
				t.Errorf("%s runs again after it was finished", id)
			}
		case "error":
			t.Error(line)
		}
	}
	const rounds = 20
	for range rounds {
		child := exec.Command(os.Args[0], "-test.run=^TestChild$")
		child.Env = append(os.Environ(), childFolder+"="+dir)
		pipe, err := child.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(pipe)
		for n := random.IntN(200); lines.Scan(); n-- {
			note(lines.Text())
			if n == 0 {
				child.Process.Kill()
			}
		}
		child.Wait()
	}
	tab := table(t, Config{Dir: dir, Depth: 1 << 20, MaxResults: 1 << 20, Run: func(_ context.Context, k *Task) (json.RawMessage, error) {
		if finished[k.ID] {
			t.Errorf("%s runs again after it was finished", k.ID)
		}
		images, err := k.Images()
		if err != nil {
			return nil, err
		}
		return images[0], nil
	}})
	for id := range acknowledged {
		if s := wait(t, tab, id); s.State != Completed {
			t.Errorf("%s: %+v", id, s)
		}
	}
	again := 0
	for _, n := range began {
		again += n - 1
	}
	if again > 2*rounds {
		t.Errorf("%d jobs ran twice, more than two workers had in hand at %d kills", again, rounds)
	}
	t.Logf("%d acknowledged, %d finished, %d run twice", len(acknowledged), len(finished), again)
	if len(acknowledged) < 10*rounds {
		t.Errorf("only %d jobs were acknowledged", len(acknowledged))
	}
}
