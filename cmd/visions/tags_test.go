package main

import (
	"path/filepath"
	"testing"
)

// Each tag leaves one transport out and says so; the others are there.
func TestTransportsThatAreNotBuiltIn(t *testing.T) {
	for tag, c := range map[string]struct{ args, doctor []string }{
		"visions_nohttp":  {[]string{"serve", "-http", "0"}, []string{"Transport http: not here", "Transport stdio: built in"}},
		"visions_nounix":  {[]string{"serve", "-unix", filepath.Join(t.TempDir(), "s")}, []string{"Transport unix: not here", "Transport http: built in"}},
		"visions_nostdio": {[]string{"serve"}, []string{"Transport stdio: not here", "Transport http: built in"}},
	} {
		t.Run(tag, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "visions.exe")
			if err := build(path, tag); err != nil {
				t.Fatal(err)
			}
			o := runBinary(t, path, "", surroundings(t), c.args...)
			o.want(t, exitFailed, "", "the transport is not built in")
			if o.out != "" {
				t.Errorf("standard output has %q", o.out)
			}
			o = runBinary(t, path, "", surroundings(t), "doctor")
			for _, line := range c.doctor {
				o.want(t, exitOK, line, "")
			}
			runBinary(t, path, "", surroundings(t), "call", "check_vision_health").want(t, exitOK, `"status"`, "")
		})
	}
}
