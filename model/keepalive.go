package model

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// ParseKeepAlive reads how long a model stays loaded: a duration ("5m"), a
// number of seconds ("300"), "0" to unload at once, or a negative value to keep
// it. ok is false for "", which leaves it to the server.
//
// # Errors
//
// Anything else.
func ParseKeepAlive(s string) (d time.Duration, ok bool, err error) {
	s = strings.TrimSpace(s)
	if s == "" {
		return 0, false, nil
	}
	if n, err := strconv.ParseFloat(s, 64); err == nil && n > -1e9 && n < 1e9 {
		return time.Duration(n * float64(time.Second)), true, nil
	}
	if d, err := time.ParseDuration(s); err == nil {
		return d, true, nil
	}
	return 0, false, fmt.Errorf(`keep_alive %q is not understood: write a duration ("5m", "2h30m"), seconds ("300"), "0" to unload at once or "-1" to keep the model loaded`, s)
}
