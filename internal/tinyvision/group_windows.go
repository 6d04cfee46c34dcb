package tinyvision

import "os/exec"

// ownGroup does nothing on Windows, where the tests run no model server.
func ownGroup(*exec.Cmd) {}

func killGroup(cmd *exec.Cmd) { cmd.Process.Kill() }
