// Command visions serves the vision tools to editors, agents and programs, and
// calls them from a shell.
//
//	visions serve [-stdio] [-http ADDR] [-unix PATH]   serve MCP; stdio when none is given
//	visions call TOOL [ARGS]                           run one tool and print its answer
//	visions bridge [PATH]                              speak stdio for a daemon's socket
//	visions tools [-json]                              list the tools
//	visions doctor                                     say what works here
//	visions -version
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/visions-mcp/visions"
)

// Exit codes.
const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2
)

// program is one run of the command, with its surroundings, so that tests can
// run it.
type program struct {
	in       io.Reader
	out, err io.Writer
	env      func(string) string
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	p := &program{in: os.Stdin, out: os.Stdout, err: os.Stderr, env: os.Getenv}
	code := p.run(ctx, os.Args[1:])
	stop()
	os.Exit(code)
}

const usage = `usage:
  visions serve [-stdio] [-http ADDR] [-unix PATH]   serve MCP; stdio when none is given
  visions call [-o DIR] [-unix PATH] TOOL [ARGS]     run one tool; ARGS is JSON, @FILE, or - for standard input
  visions bridge [PATH]                              speak stdio for a daemon's socket
  visions tools [-json]                              list the tools
  visions doctor                                     say what works here
  visions -version
Each command lists its flags with -h; docs/SETTINGS.md has all settings.
`

// usageError is a mistake in the command line.
type usageError struct{ error }

func (p *program) run(ctx context.Context, args []string) int {
	if len(args) == 0 {
		fmt.Fprint(p.err, usage)
		return exitUsage
	}
	commands := map[string]func(context.Context, []string) error{
		"serve": p.serve, "call": p.call, "bridge": p.bridge, "tools": p.tools, "doctor": p.doctor,
	}
	var err error
	switch name := args[0]; {
	case name == "-version" || name == "--version" || name == "version":
		_, err = fmt.Fprintln(p.out, "visions", visions.Version())
	case name == "-h" || name == "-help" || name == "--help" || name == "help":
		_, err = fmt.Fprint(p.out, usage)
	case commands[name] != nil:
		err = commands[name](ctx, args[1:])
	default:
		err = usageError{fmt.Errorf("there is no command %q\n%s", name, usage)}
	}
	var wrong usageError
	switch {
	case err == nil || errors.Is(err, flag.ErrHelp):
		return exitOK
	case errors.As(err, &wrong):
		fmt.Fprintln(p.err, "visions:", err)
		return exitUsage
	}
	fmt.Fprintln(p.err, "visions:", err)
	return exitFailed
}

// parse reads a command's flags, which may stand before and after its arguments,
// and returns the arguments: at least low, at most high.
func (p *program) parse(fs *flag.FlagSet, args []string, low, high int) ([]string, error) {
	fs.SetOutput(p.err)
	var rest []string
	for {
		if err := fs.Parse(args); err != nil {
			if errors.Is(err, flag.ErrHelp) {
				return nil, err
			}
			return nil, usageError{fmt.Errorf("%s: %w", fs.Name(), err)}
		}
		if fs.NArg() == 0 {
			break
		}
		rest, args = append(rest, fs.Arg(0)), fs.Args()[1:]
	}
	if n := len(rest); n < low || n > high {
		return nil, usageError{fmt.Errorf("%s: %d arguments, want %d to %d\n%s", fs.Name(), n, low, high, usage)}
	}
	return rest, nil
}

// argument returns argument i, "" when it was not given.
func argument(args []string, i int) string {
	if i < len(args) {
		return args[i]
	}
	return ""
}
