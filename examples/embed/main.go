// Command embed is a host program: it builds an Engine, serves its tools over
// HTTP for a moment, and uses one of them itself.
package main

import (
	"context"
	"fmt"
	"image"
	"io"
	"os"

	"github.com/visions-mcp/visions"
)

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer) error {
	eng, err := visions.New(visions.Config{})
	if err != nil {
		return err
	}
	defer eng.Close() // closes its servers too
	srv, err := visions.Init(eng, visions.ServerConfig{Name: "my-host", Version: "1.0"})
	if err != nil {
		return err
	}
	http := visions.HTTPConfig{} // a free port on 127.0.0.1, written back
	if err := srv.StartHTTP(ctx, &http); err != nil {
		return err
	}
	fmt.Fprintf(out, "serving http://127.0.0.1:%d/mcp\n", http.Port)

	img := image.NewGray(image.Rect(0, 0, 320, 200))
	res, err := eng.Call(ctx, "preprocess_and_crop", visions.Args{
		"image_source": img, "region": map[string]int{"left": 10, "top": 10, "width": 100, "height": 50}, "invert": true,
	})
	if err != nil {
		return err
	}
	fmt.Fprintln(out, string(res.JSON))
	return srv.Stop(ctx)
}
