package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"github.com/visions-mcp/visions"
)

// tools lists the tools.
func (p *program) tools(_ context.Context, args []string) error {
	fs := flag.NewFlagSet("tools", flag.ContinueOnError)
	asJSON := fs.Bool("json", false, "with their schemas, as JSON")
	settings := define(fs)
	if _, err := p.parse(fs, args, 0, 0); err != nil {
		return err
	}
	c, _, err := p.config(fs, settings)
	if err != nil {
		return err
	}
	eng, err := visions.New(c)
	if err != nil {
		return err
	}
	defer eng.Close()
	if *asJSON {
		type entry struct {
			Name         string          `json:"name"`
			Description  string          `json:"description"`
			Group        string          `json:"group"`
			InputSchema  json.RawMessage `json:"inputSchema"`
			OutputSchema json.RawMessage `json:"outputSchema,omitempty"`
		}
		list := []entry{}
		for _, t := range eng.Tools() {
			list = append(list, entry{t.Name, t.Description, t.Group, t.Input, t.Output})
		}
		enc := json.NewEncoder(p.out)
		enc.SetIndent("", "  ")
		return enc.Encode(list)
	}
	for _, t := range eng.Tools() {
		fmt.Fprintf(p.out, "%-24s %-8s %s\n", t.Name, t.Group, t.Description)
	}
	return nil
}

// doctor says what works on this machine.
func (p *program) doctor(ctx context.Context, args []string) error {
	fs := flag.NewFlagSet("doctor", flag.ContinueOnError)
	settings := define(fs)
	if _, err := p.parse(fs, args, 0, 0); err != nil {
		return err
	}
	c, _, err := p.config(fs, settings)
	if err != nil {
		return err
	}
	eng, err := visions.New(c)
	if err != nil {
		return err
	}
	defer eng.Close()
	fmt.Fprint(p.out, eng.Health(ctx).Text)
	for _, t := range []visions.Transport{visions.HTTP, visions.Unix, visions.Stdio} {
		fmt.Fprintf(p.out, "Transport %s: %s\n", t, yes(visions.TransportAvailable(t)))
	}
	if path, err := p.socketPath(""); err == nil {
		fmt.Fprintf(p.out, "Default socket: %s\n", path)
	}
	if c.Dir == "" {
		fmt.Fprintf(p.out, "Output folder: private, under %s\n", filepath.Clean(os.TempDir()))
	} else {
		fmt.Fprintf(p.out, "Output folder: %s\n", c.Dir)
	}
	if len(c.ImageRoots) == 0 {
		fmt.Fprintln(p.out, "Image paths: any file that this user can read (confine them with -roots)")
	} else {
		fmt.Fprintf(p.out, "Image paths: inside %v\n", c.ImageRoots)
	}
	return nil
}

func yes(ok bool) string {
	if ok {
		return "built in"
	}
	return "not here"
}
