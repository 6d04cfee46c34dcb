// Command upload shows how a client gives images to a server on another
// machine, or to one without access to its files: it uploads them and passes
// references.
//
//	visions serve -http 11402 &
//	go run ./examples/upload http://127.0.0.1:11402 shot.png
package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: upload http://127.0.0.1:PORT IMAGE (token in VISIONS_TOKEN)")
		os.Exit(2)
	}
	if err := run(context.Background(), os.Args[1], os.Getenv("VISIONS_TOKEN"), os.Args[2], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run measures the colours of an image that is uploaded first.
func run(ctx context.Context, base, token string, image any, out io.Writer) error {
	c, err := dial(ctx, base, token)
	if err != nil {
		return err
	}
	defer c.close()
	res, err := c.call(ctx, "measure_image", map[string]any{"image_source": image, "mode": "colors"})
	if err != nil {
		return err
	}
	text := res.Content[0].(*mcp.TextContent).Text
	if res.IsError {
		return fmt.Errorf("measure_image: %s", text)
	}
	fmt.Fprintln(out, text)
	return nil
}
