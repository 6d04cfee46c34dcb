//go:build unix

package main

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

func gone(t *testing.T, path string) {
	t.Helper()
	if _, err := os.Lstat(path); !os.IsNotExist(err) {
		t.Errorf("%s is still there (%v)", path, err)
	}
}

// socketFolder is a short path: sockets' names are limited to about 100 bytes.
func socketFolder(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "vis")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// daemon starts serve on a socket and waits until it listens.
func daemon(t *testing.T, socket string, args ...string) *process {
	t.Helper()
	p := launch(t, surroundings(t), append([]string{"serve", "-unix", socket}, args...)...)
	if got, want := p.next(p.err), "listening unix "+socket; got != want {
		t.Fatalf("standard error has %q, want %q", got, want)
	}
	return p
}

func TestServeAnnouncesItsAddressesAndEndsBySignal(t *testing.T) {
	for _, signal := range []os.Signal{syscall.SIGINT, syscall.SIGTERM} {
		t.Run(signal.String(), func(t *testing.T) {
			socket := filepath.Join(socketFolder(t), "s")
			p := launch(t, surroundings(t), "serve", "-http", "127.0.0.1:0", "-unix", socket)
			address := announcedHTTP.FindStringSubmatch(p.next(p.err))
			if address == nil {
				t.Fatal("the HTTP address is not announced as `listening http http://127.0.0.1:PORT/mcp`")
			}
			if got, want := p.next(p.err), "listening unix "+socket; got != want {
				t.Errorf("standard error has %q, want %q", got, want)
			}
			res, err := http.Post(address[1], "application/json", strings.NewReader(listTools))
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(res.Body)
			res.Body.Close()
			if err != nil || !strings.Contains(string(body), `"check_vision_health"`) {
				t.Errorf("%s: %.200s (%v)", res.Status, body, err)
			}
			if info, err := os.Stat(socket); err != nil || info.Mode().Perm()&0o077 != 0 {
				t.Errorf("the socket is open to others: %v (%v)", info, err)
			}
			if err := p.cmd.Process.Signal(signal); err != nil {
				t.Fatal(err)
			}
			out, errs := p.exits(exitOK, endTime)
			if len(out)+len(errs) != 0 {
				t.Errorf("left on the streams: %q and %q", out, errs)
			}
			gone(t, socket)
		})
	}
}

func TestServeEndsBySignalWhileItsInputIsOpen(t *testing.T) {
	p := launch(t, surroundings(t), "serve", "-stdio")
	p.say(initialize)
	wantMessage(t, p.next(p.out), 1)
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	p.exits(exitOK, endTime)
}

func TestServeRemovesItsSocketWhenItsInputEnds(t *testing.T) {
	socket := filepath.Join(socketFolder(t), "s")
	p := daemon(t, socket, "-stdio")
	p.in.Close()
	p.exits(exitOK, endTime)
	gone(t, socket)
}

func TestServeReclaimsTheSocketOfAKilledOne(t *testing.T) {
	socket := filepath.Join(socketFolder(t), "s")
	p := daemon(t, socket)
	second := visionsWith(t, "", surroundings(t), "serve", "-unix", socket)
	second.want(t, exitFailed, "", "a live server already listens at "+socket)

	if err := p.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	p.exits(-1, patience)
	if _, err := os.Lstat(socket); err != nil {
		t.Fatal("the killed server's socket is gone, so the test shows nothing:", err)
	}
	p = daemon(t, socket)
	answer := visionsWith(t, "", surroundings(t), "call", "-unix", socket, "check_vision_health")
	answer.want(t, exitOK, `"status"`, "")
	if err := p.cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	p.exits(exitOK, endTime)
	gone(t, socket)
}

func TestServeLeavesOtherFilesAlone(t *testing.T) {
	path := filepath.Join(socketFolder(t), "notes.txt")
	if err := os.WriteFile(path, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	visionsWith(t, "", surroundings(t), "serve", "-unix", path).want(t, exitFailed, "", path)
	if data, err := os.ReadFile(path); err != nil || string(data) != "mine" {
		t.Errorf("the file is %q (%v)", data, err)
	}
}

func TestDefaultSocketIsInTheRuntimeFolder(t *testing.T) {
	dir := socketFolder(t)
	env := surroundings(t, "XDG_RUNTIME_DIR="+dir)
	p := launch(t, env, "serve", "-unix", "default")
	if got, want := p.next(p.err), "listening unix "+filepath.Join(dir, "visions.sock"); got != want {
		t.Fatalf("standard error has %q, want %q", got, want)
	}
	visionsWith(t, "", env, "call", "-unix", "default", "check_vision_health").want(t, exitOK, `"status"`, "")
	visionsWith(t, initialize+"\n", env, "bridge").want(t, exitOK, `"serverInfo"`, "")
}

func TestBridgeJoinsStdioToADaemon(t *testing.T) {
	socket := filepath.Join(socketFolder(t), "s")
	d := daemon(t, socket)
	b := launch(t, surroundings(t), "bridge", socket)
	b.say(initialize)
	wantMessage(t, b.next(b.out), 1)
	b.say(initialized)
	b.say(listTools)
	wantMessage(t, b.next(b.out), 2)
	b.in.Close()
	if out, errs := b.exits(exitOK, endTime); len(out)+len(errs) != 0 {
		t.Errorf("left on the streams: %q and %q", out, errs)
	}

	left := launch(t, surroundings(t), "bridge", socket)
	left.say(initialize)
	wantMessage(t, left.next(left.out), 1)
	if err := d.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	d.exits(exitOK, endTime)
	if _, errs := left.exits(exitFailed, endTime); !slices.ContainsFunc(errs, func(s string) bool { return strings.Contains(s, "daemon") }) {
		t.Errorf("a bridge whose daemon ended says %q", errs)
	}
	visionsWith(t, "", surroundings(t), "bridge", socket).want(t, exitFailed, "", "start one with `visions serve -unix "+socket)
}

func TestCallAsksADaemon(t *testing.T) {
	dir := socketFolder(t)
	socket, pictures := filepath.Join(dir, "s"), filepath.Join(dir, "pictures")
	daemon(t, socket)
	page := picture(t, 2400, 1200) // wider than a picture in an answer may be

	o := visionsWith(t, "", surroundings(t), "call", "-unix", socket, "-o", pictures, "preprocess_and_crop", argumentsFor(t, page))
	o.want(t, exitOK, `"width":2400`, "saved "+pictures)
	path := wantSaved(t, o, pictures, 2400, 1200)
	if path == page {
		t.Error("the source was named as the result")
	}
	o = visionsWith(t, "", surroundings(t), "call", "-unix", socket, "preprocess_and_crop", `{"image_source":"/no/such/file.png"}`)
	o.want(t, exitFailed, "", `"code":"NOT_FOUND"`)
	visionsWith(t, "", surroundings(t), "call", "-unix", socket+"x", "check_vision_health").want(t, exitFailed, "", "no daemon at "+socket+"x")
}
