package main

import (
	"fmt"
	"os"
	"strings"
)

// resident returns the resident memory of a process and its peak so far, in
// bytes.
func resident(pid int) (now, peak int64, err error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, 0, err
	}
	for line := range strings.SplitSeq(string(status), "\n") {
		name, value, _ := strings.Cut(line, ":")
		var kib int64
		switch name {
		case "VmRSS":
			_, err = fmt.Sscan(value, &kib)
			now = kib << 10
		case "VmHWM":
			_, err = fmt.Sscan(value, &kib)
			peak = kib << 10
		}
		if err != nil {
			return 0, 0, err
		}
	}
	return now, peak, nil
}
