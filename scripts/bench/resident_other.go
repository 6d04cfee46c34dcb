//go:build !linux

package main

import "errors"

// resident is measured where /proc is.
func resident(int) (now, peak int64, err error) {
	return 0, 0, errors.New("resident memory is measured on Linux only")
}
