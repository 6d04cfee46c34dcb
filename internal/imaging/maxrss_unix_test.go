//go:build unix && !darwin

package imaging

// maxrssUnit is the unit of getrusage's ru_maxrss in bytes (getrusage(2)).
const maxrssUnit = 1024
