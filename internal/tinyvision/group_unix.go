//go:build unix

package tinyvision

import (
	"os/exec"
	"syscall"
)

// ownGroup puts a command into a process group of its own, so that the model
// runners it starts end with it.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

func killGroup(cmd *exec.Cmd) { syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
