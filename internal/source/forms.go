package source

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os/user"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/visions-mcp/visions/internal/guard"
	"github.com/visions-mcp/visions/internal/imaging"
	"github.com/visions-mcp/visions/internal/store"
)

// ways says how an image can be given.
const ways = "pass a data URI (data:image/png;base64,...), base64, a path on the server's machine, an http or https URL, or an upload://, download:// or visions:// reference"

// minBase64 is the length from which a string that names no file is taken for
// base64.
const minBase64 = 50

// fetchText gets the bytes that a string stands for. A file that exists wins
// over base64.
func (r *Resolver) fetchText(ctx context.Context, s string, o Options) (*Blob, error) {
	trimmed := strings.TrimSpace(s)
	switch scheme := schemeOf(trimmed); scheme {
	case "":
	case "data":
		return r.dataURI(trimmed)
	case "file":
		path, err := filePath(trimmed)
		if err != nil {
			return nil, err
		}
		return r.file(path, o)
	case "http", "https":
		return r.Download(ctx, trimmed)
	case "upload", "download", "visions":
		return r.reference(scheme, trimmed)
	default:
		return nil, fmt.Errorf("%w: %s: unknown scheme %q; %s", ErrInvalidArgument, shortName(trimmed), scheme, ways)
	}
	if trimmed == "" {
		return nil, fmt.Errorf("%w: it is empty; %s", ErrInvalidArgument, ways)
	}
	mayBeBase64 := len(trimmed) > minBase64 && looksBase64(trimmed)
	var noFile error
	if path, ok := localPath(trimmed); ok {
		var b *Blob
		if b, noFile = r.file(path, o); noFile == nil || !mayBeBase64 {
			return b, noFile
		}
	}
	if mayBeBase64 {
		b, err := r.base64(trimmed, "base64")
		isImage := err == nil && imaging.Sniff(b.Data) != ""
		if noFile != nil && !isImage {
			return nil, noFile // an absolute path: base64 that starts with a slash is a JPEG
		}
		if err == nil && !isImage {
			return nil, fmt.Errorf("%w: the base64 text decodes to %d bytes that are no image; %s", ErrInvalidArgument, len(b.Data), ways)
		}
		return b, err
	}
	if foreign.MatchString(trimmed) {
		return nil, notHere(trimmed)
	}
	return nil, fmt.Errorf("%w: %q is neither an absolute path nor base64; %s", ErrInvalidArgument, shortName(trimmed), ways)
}

// reference reads a file of our own by what upload, download_image or a tool
// that made a picture answered.
func (r *Resolver) reference(scheme, s string) (*Blob, error) {
	id := strings.TrimPrefix(s[len(scheme)+1:], "//")
	kind := store.Uploads
	switch scheme {
	case "download":
		kind = store.Downloads
	case "visions":
		folder, file, _ := strings.Cut(id, "/")
		kind, id = store.Kind(folder), file
	}
	if r.c.Store == nil || !kind.Known() {
		return nil, fmt.Errorf("%w: %s is not a reference of this server; %s", ErrInvalidArgument, shortName(s), ways)
	}
	data, ref, err := r.c.Store.Get(kind, id)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", shortName(s), err)
	}
	return &Blob{Data: data, Name: string(kind) + "/" + ref.ID}, nil
}

// foreign matches paths of other machines and systems.
var foreign = regexp.MustCompile(`^([A-Za-z]:[\\/]|\\\\)`)

func notHere(path string) error {
	return fmt.Errorf("%w: %s. Paths are those of the machine that runs this server, not of the client: %s", ErrNotFound, shortName(path), ways)
}

// schemeOf returns the lower-case URI scheme of s, "" when it has none. One
// letter is a Windows drive, not a scheme.
func schemeOf(s string) string {
	head := s[:min(len(s), 32)]
	name, _, ok := strings.Cut(head, ":")
	if !ok || len(name) < 2 || strings.Trim(strings.ToLower(name), "abcdefghijklmnopqrstuvwxyz0123456789+-.") != "" {
		return ""
	}
	return strings.ToLower(name)
}

// localPath returns the file an argument may name.
func localPath(s string) (string, bool) {
	if strings.ContainsAny(s[:min(len(s), 4096)], "\x00\n") || len(s) > 4096 {
		return "", false
	}
	if rest, ok := strings.CutPrefix(s, "~"); ok {
		name, tail, _ := strings.Cut(filepath.ToSlash(rest), "/")
		dir, err := home()
		if name != "" {
			var u *user.User
			if u, err = user.Lookup(name); err == nil {
				dir = u.HomeDir
			}
		}
		if err != nil {
			return s, true // refused below as a path that is not absolute
		}
		return filepath.Join(dir, filepath.FromSlash(tail)), true
	}
	return s, filepath.IsAbs(s)
}

// filePath takes the path out of a file URI: file:///p, file://localhost/p, file:/p.
func filePath(s string) (string, error) {
	u, err := url.Parse(s)
	if err != nil {
		return "", fmt.Errorf("%w: %s: %v", ErrInvalidArgument, shortName(s), err)
	}
	if u.Host != "" && !strings.EqualFold(u.Host, "localhost") {
		return "", fmt.Errorf("%w: %s names the host %q; only files of the server's machine can be read", ErrInvalidArgument, shortName(s), u.Host)
	}
	path := u.Path
	if path == "" {
		path = u.Opaque
	}
	if len(path) > 2 && path[0] == '/' && foreign.MatchString(path[1:]) {
		path = path[1:] // file:///C:/p
	}
	return filepath.FromSlash(path), nil
}

func (r *Resolver) file(path string, o Options) (*Blob, error) {
	if !o.AllowPaths {
		return nil, fmt.Errorf("%w: %s: any local user can reach this server, so it reads no files for them. Set a token, or confine paths with ImageRoots; or pass a data URI", ErrPathDenied, shortName(path))
	}
	data, err := r.c.Roots.ReadFile(path, r.c.Limits.Bytes)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, notHere(path)
	case errors.Is(err, guard.ErrTooLarge):
		return nil, fmt.Errorf("%w: %w", ErrTooLarge, err)
	case err != nil:
		return nil, err
	}
	b := &Blob{Data: data, Name: shortName(filepath.Base(path))}
	b.warnType(mimeByExt[strings.ToLower(filepath.Ext(path))], "the name")
	return b, nil
}

var mimeByExt = map[string]string{
	".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".gif": "image/gif", ".webp": "image/webp", ".bmp": "image/bmp",
}

// warnType notes that the bytes are of another type than declared: bytes win.
func (b *Blob) warnType(declared, by string) {
	format := imaging.Sniff(b.Data)
	if declared == "" || declared == "application/octet-stream" || format == "" || declared == "image/"+format {
		return
	}
	b.Warnings = append(b.Warnings, fmt.Sprintf("%s says %s but the bytes are image/%s; the bytes were believed", by, declared, format))
}

// dataURI decodes data:[type][;parameters][;base64],data (RFC 2397), tolerant of
// case, spaces, missing padding and the base64url alphabet.
func (r *Resolver) dataURI(s string) (*Blob, error) {
	head, body, ok := strings.Cut(s[len("data:"):], ",")
	if !ok || len(head) > 256 {
		return nil, fmt.Errorf("%w: the data URI has no comma after its type; write data:image/png;base64,DATA", ErrInvalidArgument)
	}
	fields := strings.Split(strings.ToLower(head), ";")
	declared := strings.TrimSpace(fields[0])
	if declared == "image/jpg" {
		declared = "image/jpeg"
	}
	var b *Blob
	var err error
	if strings.TrimSpace(fields[len(fields)-1]) == "base64" {
		b, err = r.base64(body, "data URI")
	} else {
		var text string
		if int64(len(body)) > 3*r.c.Limits.Bytes {
			return nil, r.tooLarge(int64(len(body) / 3))
		}
		if text, err = url.PathUnescape(body); err == nil {
			b = &Blob{Data: []byte(text), Name: "data URI"}
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%w: the data URI: %w", ErrInvalidArgument, err)
	}
	b.warnType(declared, "the data URI")
	return b, nil
}

// looksBase64 tests the alphabet on the first part of a string.
func looksBase64(s string) bool {
	return strings.Trim(s[:min(len(s), 4096)], "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_=\r\n\t ") == ""
}

// base64 decodes either alphabet, with or without padding and line breaks, into
// one buffer.
func (r *Resolver) base64(s, name string) (*Blob, error) {
	if n := int64(base64.RawStdEncoding.DecodedLen(len(s))); n > r.c.Limits.Bytes+r.c.Limits.Bytes/8 {
		return nil, r.tooLarge(n)
	}
	s = strings.TrimRight(s, "= \r\n\t")
	if strings.ContainsAny(s, " \t") {
		s = strings.NewReplacer(" ", "", "\t", "").Replace(s)
	}
	enc := base64.RawStdEncoding
	if strings.ContainsAny(s, "-_") {
		enc = base64.RawURLEncoding
	}
	data, err := enc.DecodeString(s)
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %v", ErrInvalidArgument, name, err)
	}
	return &Blob{Data: data, Name: name}, nil
}
