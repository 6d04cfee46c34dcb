package tinyvision

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
)

// Value types of GGUF metadata.
const (
	ggufU32, ggufI32, ggufF32, ggufBool, ggufString, ggufArray = 4, 5, 6, 7, 8, 9
)

// kv is one metadata entry.
type kv struct {
	key string
	val any
}

// tensor is one weight matrix or vector, 32-bit floats.
type tensor struct {
	name string
	dims []uint64 // fastest-varying first
	data []float32
}

// writer counts what it writes, for alignment, and keeps the first error.
type writer struct {
	w   *bufio.Writer
	n   int64
	err error
}

func (w *writer) Write(p []byte) (int, error) {
	n, err := w.w.Write(p)
	w.n += int64(n)
	return n, err
}

func (w *writer) put(v any) {
	if w.err == nil {
		w.err = binary.Write(w, binary.LittleEndian, v)
	}
}

func (w *writer) str(s string) {
	w.put(uint64(len(s)))
	w.put([]byte(s))
}

func (w *writer) pad(align int64) {
	if r := w.n % align; r != 0 {
		w.put(make([]byte, align-r))
	}
}

// writeGGUF writes a GGUF file of version 3.
func writeGGUF(out io.Writer, meta []kv, tensors []tensor) error {
	const align = 32
	w := &writer{w: bufio.NewWriterSize(out, 1<<20)}
	w.put([]byte("GGUF"))
	w.put(uint32(3))
	w.put(uint64(len(tensors)))
	w.put(uint64(len(meta)))
	for _, m := range meta {
		w.str(m.key)
		switch v := m.val.(type) {
		case uint32:
			w.put(uint32(ggufU32))
			w.put(v)
		case float32:
			w.put(uint32(ggufF32))
			w.put(v)
		case bool:
			w.put(uint32(ggufBool))
			w.put(v)
		case string:
			w.put(uint32(ggufString))
			w.str(v)
		case []int32:
			w.put(uint32(ggufArray))
			w.put(uint32(ggufI32))
			w.put(uint64(len(v)))
			w.put(v)
		case []string:
			w.put(uint32(ggufArray))
			w.put(uint32(ggufString))
			w.put(uint64(len(v)))
			for _, s := range v {
				w.str(s)
			}
		default:
			return fmt.Errorf("key %s: unsupported type %T", m.key, m.val)
		}
	}
	var off uint64
	for _, t := range tensors {
		w.str(t.name)
		w.put(uint32(len(t.dims)))
		w.put(t.dims)
		w.put(uint32(0)) // F32
		w.put(off)
		off += (uint64(len(t.data))*4 + align - 1) / align * align
	}
	w.pad(align)
	for _, t := range tensors {
		w.put(t.data)
		w.pad(align)
	}
	if w.err != nil {
		return w.err
	}
	return w.w.Flush()
}
