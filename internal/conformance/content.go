package conformance

import (
	"bytes"
	"context"
	"encoding/binary"
	"image"
	"image/color"
	"image/png"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// redDot is a PNG of one red pixel.
func redDot() []byte {
	m := image.NewNRGBA(image.Rect(0, 0, 1, 1))
	m.Set(0, 0, color.NRGBA{255, 0, 0, 255})
	var out bytes.Buffer
	if err := png.Encode(&out, m); err != nil {
		panic(err) // a buffer takes everything
	}
	return out.Bytes()
}

// silence is a WAV file of one silent sample: 8 bit, mono, 8 kHz.
func silence() []byte {
	var out bytes.Buffer
	for _, part := range []any{
		[]byte("RIFF"), uint32(37), []byte("WAVEfmt "), uint32(16), uint16(1), uint16(1), uint32(8000), uint32(8000), uint16(1), uint16(8),
		[]byte("data"), uint32(1), []byte{128},
	} {
		binary.Write(&out, binary.LittleEndian, part) //nolint:errcheck // a buffer takes everything
	}
	return out.Bytes()
}

// addContent adds a tool for each kind of content.
func addContent(srv *mcp.Server) {
	picture := &mcp.ImageContent{Data: redDot(), MIMEType: "image/png"}
	add(srv, "test_simple_text", "Answers with a text.", fixed(&mcp.TextContent{Text: "This is a simple text response for testing."}))
	add(srv, "test_image_content", "Answers with a picture.", fixed(picture))
	add(srv, "test_audio_content", "Answers with a sound.", fixed(&mcp.AudioContent{Data: silence(), MIMEType: "audio/wav"}))
	add(srv, "test_embedded_resource", "Answers with a resource.", fixed(&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{
		URI: "test://embedded-resource", MIMEType: "text/plain", Text: "This is an embedded resource content."}}))
	add(srv, "test_multiple_content_types", "Answers with a text, a picture and a resource.", fixed(
		&mcp.TextContent{Text: "Multiple content types test:"}, picture, &mcp.EmbeddedResource{Resource: &mcp.ResourceContents{
			URI: "test://mixed-content-resource", MIMEType: "application/json", Text: `{"test":"data","value":123}`}}))
	add(srv, "test_error_handling", "Fails.", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		res := say("This tool intentionally returns an error for testing")
		res.IsError = true
		return res, nil
	})
}
