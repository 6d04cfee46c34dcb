package main

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

//go:embed pages sharp.mjs sharpdiff.mjs
var files embed.FS

// kinds are the pages that stand for kinds of screenshots.
var kinds = []string{"flat", "dashboard", "code", "photo"}

// screenshot renders one of the pages as a 4K PNG with headless Chromium.
func (b *bench) screenshot(ctx context.Context, kind string) ([]byte, error) {
	if b.pages[kind] != nil {
		return b.pages[kind], nil
	}
	browser, err := findBrowser()
	if err != nil {
		return nil, err
	}
	page, err := files.ReadFile("pages/" + kind + ".html")
	if err != nil {
		return nil, err
	}
	in, out := filepath.Join(b.dir, kind+".html"), filepath.Join(b.dir, kind+".png")
	if err := os.WriteFile(in, page, 0o600); err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, browser, "--headless=new", "--no-sandbox", "--hide-scrollbars", "--user-data-dir="+filepath.Join(b.dir, "profile"),
		"--force-device-scale-factor=2", "--window-size=1920,1080", "--screenshot="+out, "file://"+filepath.ToSlash(in))
	if text, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%s: %w\n%s", browser, err, text)
	}
	data, err := os.ReadFile(out)
	if err != nil {
		return nil, err
	}
	if b.pages == nil {
		b.pages = map[string][]byte{}
	}
	b.pages[kind] = data
	return data, nil
}

func findBrowser() (string, error) {
	names := []string{"chromium", "chromium-browser", "google-chrome"}
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", errors.New("no browser to make screenshots with: install one of " + strings.Join(names, ", "))
}
