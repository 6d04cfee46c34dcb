package job

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"time"
)

// A record is its length, a CRC-32C, and the body: one byte for the kind, a
// line of JSON, and the raw bytes that belong to it (arguments or a result).
// Length and CRC are 32 bits, little endian, and cover the body.
const recordHead = 8 // bytes

// maxRecord bounds a record; a longer one in a file is damage.
const maxRecord = 64 << 20 // bytes

type kind byte

const (
	kindHeader kind = 'H' // what ids are made of; the first record of a file
	kindSubmit kind = 'S'
	kindStart  kind = 'R' // a try has begun
	kindEnd    kind = 'E'
)

// submitted is the line of a submit record; the arguments follow it.
type submitted struct {
	ID      string    `json:"id"`
	Key     string    `json:"key,omitempty"`
	Tool    string    `json:"tool"`
	Digest  []byte    `json:"digest"`
	Images  []blobRef `json:"images,omitempty"`
	Created time.Time `json:"created"`
}

// began is the line of a start record.
type began struct {
	ID      string `json:"id"`
	Attempt int    `json:"attempt"`
}

// finished is the line of an end record; the result follows it.
type finished struct {
	ID      string    `json:"id"`
	State   State     `json:"state"`
	Attempt int       `json:"attempt"`
	Failure *Failure  `json:"failure,omitempty"`
	At      time.Time `json:"at"`
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// encodeRecord makes the bytes of a record.
func encodeRecord(k kind, line any, raw []byte) ([]byte, error) {
	text, err := json.Marshal(line)
	if err != nil {
		return nil, err
	}
	n := 1 + len(text) + 1 + len(raw)
	if n > maxRecord {
		return nil, fmt.Errorf("the record has %d bytes (limit %d)", n, maxRecord)
	}
	b := make([]byte, recordHead, recordHead+n)
	b = append(b, byte(k))
	b = append(b, text...)
	b = append(b, '\n')
	b = append(b, raw...)
	binary.LittleEndian.PutUint32(b, uint32(n))
	binary.LittleEndian.PutUint32(b[4:], crc32.Checksum(b[recordHead:], castagnoli))
	return b, nil
}

// errTorn says that what follows is no whole record.
var errTorn = errors.New("the record is torn or damaged")

// readRecord reads the next record and its whole length. The error is io.EOF at
// a clean end and errTorn at a broken one.
func readRecord(r *bufio.Reader) (k kind, line, raw []byte, size int64, err error) {
	var head [recordHead]byte
	if n, err := io.ReadFull(r, head[:]); err != nil {
		if n == 0 && errors.Is(err, io.EOF) {
			return 0, nil, nil, 0, io.EOF
		}
		return 0, nil, nil, 0, tornUnless(err)
	}
	n := binary.LittleEndian.Uint32(head[:])
	if n < 2 || n > maxRecord {
		return 0, nil, nil, 0, errTorn
	}
	var body bytes.Buffer // grows with what is there, not with what a damaged length says
	if _, err := io.CopyN(&body, r, int64(n)); err != nil {
		return 0, nil, nil, 0, tornUnless(err)
	}
	b := body.Bytes()
	line, raw, ok := bytes.Cut(b[1:], []byte{'\n'})
	if !ok || crc32.Checksum(b, castagnoli) != binary.LittleEndian.Uint32(head[4:]) {
		return 0, nil, nil, 0, errTorn
	}
	return kind(b[0]), line, raw, recordHead + int64(n), nil
}

// tornUnless takes the end of the file for damage and keeps other errors.
func tornUnless(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errTorn
	}
	return err
}
