package program

import "os/exec"

// ownGroup leaves the command as it is: only the program itself is killed.
func ownGroup(*exec.Cmd) {}
