package main

import (
	"time"

	"golang.org/x/sys/windows"
)

// cpuTime returns what this process has used so far, all threads together.
func cpuTime() (time.Duration, error) {
	var created, exited, kernel, user windows.Filetime
	err := windows.GetProcessTimes(windows.CurrentProcess(), &created, &exited, &kernel, &user)
	ticks := func(f windows.Filetime) int64 { return int64(f.HighDateTime)<<32 | int64(f.LowDateTime) }
	return time.Duration(ticks(kernel)+ticks(user)) * 100, err // of 100 ns
}
