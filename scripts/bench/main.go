// Command bench measures the figures that the project promises, each beside
// its yardstick in one run, and fails where one falls short. It is no part of
// the tests, because a loaded machine can make it fail.
//
//	go run ./scripts/bench [-only REGEXP] [-runs N]
//
// A subject is one file that adds itself to [subjects] and returns rows.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"text/tabwriter"
)

// subject is a group of rows that are measured together.
type subject struct {
	name    string
	measure func(context.Context, *bench) ([]row, error)
}

var subjects = []subject{
	{"calls", measureCalls},
	{"memory", measureMemory},
	{"start", measureStart},
	{"png", measurePNG},
	{"preprocess", measurePreprocess},
	{"measure", measureMeasure},
}

// bench is what the subjects work with.
type bench struct {
	runs    int
	dir     string // scratch, removed at the end
	binary  string // the visions command
	self    string // this command, for children in a role
	scripts string // the folder of the shell scripts
	pages   map[string][]byte
}

// row is one figure. Its value must stay at most, or with atLeast at least, at
// the limit.
type row struct {
	what         string
	ours, theirs string // what was measured, with units; theirs is "" without a yardstick
	value, limit float64
	unit         string // of value and limit, "" for a ratio
	atLeast      bool
}

func (r row) holds() bool {
	if r.atLeast {
		return r.value >= r.limit
	}
	return r.value <= r.limit
}

func main() {
	role := flag.String("role", "", "serve as a child: engine or sdk")
	socket := flag.String("socket", "", "where a child listens")
	only := flag.String("only", "", "measure the subjects that match this regular expression")
	runs := flag.Int("runs", 10, "runs of which the minimum counts")
	flag.Parse()
	ctx := context.Background()
	var err error
	ok := true
	if *role != "" {
		err = serveRole(ctx, *role, *socket)
	} else {
		ok, err = run(ctx, *only, *runs)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
	}
	if err != nil || !ok {
		os.Exit(1)
	}
}

func run(ctx context.Context, only string, runs int) (ok bool, err error) {
	chosen, err := regexp.Compile(only)
	if err != nil {
		return false, err
	}
	b := &bench{runs: max(1, runs)}
	if b.dir, err = os.MkdirTemp("", "visions-bench"); err != nil {
		return false, err
	}
	defer os.RemoveAll(b.dir)
	if b.self, err = os.Executable(); err != nil {
		return false, err
	}
	root, err := output(ctx, "go", "list", "-m", "-f", "{{.Dir}}")
	if err != nil {
		return false, err
	}
	b.scripts = filepath.Join(root, "scripts")
	b.binary = filepath.Join(b.dir, "visions")
	if _, err := output(ctx, "go", "build", "-o", b.binary, filepath.Join(root, "cmd/visions")); err != nil {
		return false, err
	}
	table := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "\tsubject\tfigure\tours\tyardstick\tvalue\tlimit")
	ok = true
	for _, s := range subjects {
		if !chosen.MatchString(s.name) {
			continue
		}
		fmt.Fprintln(os.Stderr, "measuring", s.name)
		rows, err := s.measure(ctx, b)
		if err != nil {
			ok = false
			fmt.Fprintf(os.Stderr, "bench: %s: %v\n", s.name, err)
			fmt.Fprintf(table, "FAILED\t%s\t\t\t\t\t\n", s.name)
		}
		for _, r := range rows {
			mark, sign := "ok", "<="
			if !r.holds() {
				mark, ok = "SHORT", false
			}
			if r.atLeast {
				sign = ">="
			}
			fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%.3g%s\t%s %g%s\n", mark, s.name, r.what, r.ours, r.theirs, r.value, r.unit, sign, r.limit, r.unit)
		}
	}
	return ok, table.Flush()
}

// output runs a command and returns the last line that it printed.
func output(ctx context.Context, name string, args ...string) (string, error) {
	var stderr strings.Builder
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w\n%s", filepath.Base(name), err, stderr.String())
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	return lines[len(lines)-1], nil
}

// interleave runs every contestant in turn, runs times over, and returns the
// least figure of each. What disturbs the machine disturbs all of them.
func interleave(runs int, contestants ...func() (float64, error)) ([]float64, error) {
	least := make([]float64, len(contestants))
	for n := range runs {
		for i, measure := range contestants {
			v, err := measure()
			if err != nil {
				return nil, err
			}
			if n == 0 || v < least[i] {
				least[i] = v
			}
		}
	}
	return least, nil
}
