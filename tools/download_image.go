package tools

import (
	"context"
	"path/filepath"
	"strings"

	"github.com/visions-mcp/visions/internal/imaging"
	"github.com/visions-mcp/visions/internal/store"
)

var downloadImage = Tool{
	Name: "download_image", Title: "Download an image", Group: "image", Writes: true, OpenWorld: true,
	Description: "Download an image from a public http or https URL and keep it for 15 minutes. Answers a download:// reference that every image argument accepts. " +
		"Image arguments take URLs too; download first to use one image several times.",
	Input: Object([]string{"url"},
		Text("url", "Address of the image. Private, loopback and link-local addresses are refused, also after redirects."),
		Text("filename", "A name to remember it by, without folders. Files are stored under a name of the server's."),
	).JSON(),
	Output: Schema{Type: "object", Open: true, Properties: []Property{
		{"success", Schema{Type: "boolean"}},
		Text("downloadRef", "Pass this as any image argument."),
		Text("file_path", "Where the file lies on the server's machine."),
		Text("original_url", ""), Text("filename", ""), Text("mime_type", "By the bytes."),
		{"size", Schema{Type: "integer", Description: "Bytes."}},
		{"width", Schema{Type: "integer", Description: "Pixels, upright."}},
		{"height", Schema{Type: "integer", Description: "Pixels, upright."}},
		Text("expires", "RFC 3339."),
	}}.JSON(),
	Handle: handleDownloadImage,
}

func handleDownloadImage(ctx context.Context, c *Call) (*Result, error) {
	var a struct {
		URL      string `json:"url"`
		Filename string `json:"filename"`
	}
	if err := c.Bind(&a); err != nil {
		return nil, err
	}
	if strings.ContainsAny(a.Filename, `/\:`) || a.Filename != "" && !filepath.IsLocal(a.Filename) {
		return nil, Errorf(InvalidArgument, "filename %q: give a plain name without folders", a.Filename)
	}
	var ref store.Ref
	var info imaging.Info
	warnings := []string{}
	err := c.Wait(ctx, func() error {
		blob, err := c.Sources.Download(ctx, strings.TrimSpace(a.URL))
		if err != nil {
			return err
		}
		if info, err = imaging.Probe(blob.Data, imaging.Limits{}); err != nil {
			return err
		}
		warnings = append(warnings, blob.Warnings...)
		ref, err = c.Store.Put(store.Downloads, info.Extension(), blob.Data)
		return err
	})
	if err != nil {
		return nil, err
	}
	if a.Filename == "" {
		a.Filename = ref.ID
	}
	return &Result{Value: struct {
		Success  bool     `json:"success"`
		Ref      string   `json:"downloadRef"`
		Path     string   `json:"file_path"`
		URL      string   `json:"original_url"`
		Filename string   `json:"filename"`
		MIMEType string   `json:"mime_type"`
		Size     int64    `json:"size"`
		Width    int      `json:"width"`
		Height   int      `json:"height"`
		Expires  string   `json:"expires"`
		Warnings []string `json:"warnings"`
	}{true, "download://" + ref.ID, c.Store.Path(ref), a.URL, a.Filename, MIMEType(ref.ID), ref.Size, info.Width, info.Height,
		ref.Expires.UTC().Format("2006-01-02T15:04:05Z"), warnings}}, nil
}
