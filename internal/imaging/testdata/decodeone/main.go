// Command decodeone decodes the image on standard input and prints what came of
// it as one line of JSON. The tests build it without the race detector, so that
// its limits on time and memory are those of the product.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/visions-mcp/visions/internal/imaging"
)

// Outcome is what is printed.
type Outcome struct {
	Size    string // "WxH" when it was decoded
	Frames  int
	Class   imaging.Class
	Message string
}

func main() {
	data, err := io.ReadAll(os.Stdin)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	var out Outcome
	m, info, err := imaging.Decode(context.Background(), data, imaging.Limits{})
	var e *imaging.Error
	switch {
	case err == nil:
		out.Size, out.Frames = fmt.Sprintf("%dx%d", m.Width(), m.Height()), info.Frames
	case errors.As(err, &e):
		out.Class, out.Message = e.Class, e.Error()
	default:
		fmt.Fprintln(os.Stderr, "an error without a class:", err)
		os.Exit(1)
	}
	if err := json.NewEncoder(os.Stdout).Encode(out); err != nil {
		os.Exit(1)
	}
}
