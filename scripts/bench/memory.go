package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"image"
	"image/png"
	"math/rand/v2"
	"path/filepath"
)

// bigArgument is the length of the data URI, in bytes.
const bigArgument = 20 << 20

// measureMemory sends a 20 MB data URI through preprocess_and_crop of a fresh
// daemon (line, arguments, base64, pixels, crop, answer) and to a bare SDK
// server that only takes its length; each peak is that over the idle process.
func measureMemory(ctx context.Context, b *bench) ([]row, error) {
	uri, err := noiseURI(bigArgument)
	if err != nil {
		return nil, err
	}
	crop := func(uri string) map[string]any {
		return map[string]any{"image_source": uri, "region": map[string]int{"left": 2, "top": 2, "width": 400, "height": 100}}
	}
	big, err := call("preprocess_and_crop", crop(uri))
	if err != nil {
		return nil, err
	}
	small, err := noiseURI(1 << 20)
	if err != nil {
		return nil, err
	}
	warm, err := call("preprocess_and_crop", crop(small))
	if err != nil {
		return nil, err
	}
	sdkBig, err := call("size", text{uri})
	if err != nil {
		return nil, err
	}
	sdkWarm, err := call("size", text{small})
	if err != nil {
		return nil, err
	}
	socket := filepath.Join(b.dir, "memory")
	growth, err := interleave(b.runs,
		func() (float64, error) {
			return peakGrowth(ctx, socket, warm, big, b.binary, "serve", "-unix", socket)
		},
		func() (float64, error) {
			return peakGrowth(ctx, socket, sdkWarm, sdkBig, b.self, "-role", "sdk", "-socket", socket)
		})
	if err != nil {
		return nil, err
	}
	times := func(bytes float64) string { return fmt.Sprintf("%.1f MiB", bytes/(1<<20)) }
	return []row{{what: "20 MB data URI, peak growth over its size", ours: times(growth[0]), theirs: fmt.Sprintf("SDK %s, %.1f", times(growth[1]), growth[1]/bigArgument), value: growth[0] / bigArgument, limit: 6}}, nil
}

// peakGrowth returns how many bytes the resident memory of a fresh server grows
// at most while it answers one call.
func peakGrowth(ctx context.Context, socket string, warm, big []byte, name string, args ...string) (float64, error) {
	c, err := start(ctx, socket, name, args...)
	if err != nil {
		return 0, err
	}
	defer c.stop()
	client, err := dial(socket)
	if err != nil {
		return 0, err
	}
	defer client.close()
	if err := client.roundTrip(warm); err != nil {
		return 0, err
	}
	idle, _, err := resident(c.cmd.Process.Pid)
	if err != nil {
		return 0, err
	}
	if err := client.roundTrip(big); err != nil {
		return 0, err
	}
	_, peak, err := resident(c.cmd.Process.Pid)
	return float64(peak - idle), err
}

// noiseURI is a PNG of noise, which no encoder can shrink, as a data URI of
// about n bytes.
func noiseURI(n int) (string, error) {
	pixels := n * 3 / 4 / 3 // base64, and three bytes a pixel
	const width = 2048
	m := image.NewRGBA(image.Rect(0, 0, width, max(1, pixels/width)))
	r := rand.NewChaCha8([32]byte{1})
	r.Read(m.Pix)
	for i := 3; i < len(m.Pix); i += 4 {
		m.Pix[i] = 255
	}
	var file bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: png.BestSpeed}).Encode(&file, m); err != nil {
		return "", err
	}
	return "data:image/png;base64," + base64.StdEncoding.EncodeToString(file.Bytes()), nil
}
