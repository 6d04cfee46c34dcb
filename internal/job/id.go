package job

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"time"
)

// An id is 128 bits in hexadecimal: when the table began (40 bits,
// milliseconds since idOrigin), which job of it this is (32 bits), and a keyed
// digest of both (56 bits), which makes ids unguessable. So the table tells an id
// it has given out and dropped from one that it never gave, without keeping
// either, and knows the ids of tables before it.
const (
	epochBytes = 5
	countBytes = 4
	idBytes    = 16
	idDigits   = 2 * idBytes
)

// idOrigin is 1 January 2026, in milliseconds of Unix time. 40 bits last until
// 2060.
const idOrigin = 1_767_225_600_000

// issuer gives out ids.
type issuer struct {
	Epoch  uint64 `json:"epoch"`
	Secret []byte `json:"secret"`
	Count  uint32 `json:"count"` // ids given out
}

func newIssuer(now time.Time) issuer {
	i := issuer{Epoch: uint64(max(0, now.UnixMilli()-idOrigin)) & (1<<(8*epochBytes) - 1), Secret: make([]byte, sha256.Size)}
	rand.Read(i.Secret)
	return i
}

// next gives out an id.
func (i *issuer) next() string {
	i.Count++
	return i.spell(i.Count)
}

func (i *issuer) spell(count uint32) string {
	var b [8 + countBytes]byte
	binary.BigEndian.PutUint64(b[:], i.Epoch)
	binary.BigEndian.PutUint32(b[8:], count)
	head := b[8-epochBytes:]
	mac := hmac.New(sha256.New, i.Secret)
	mac.Write(head)
	return hex.EncodeToString(mac.Sum(head)[:idBytes])
}

// explain says why an id is not in the table.
func (i *issuer) explain(id string) error {
	raw, err := hex.DecodeString(id)
	if err != nil || len(raw) != idBytes {
		return ErrUnknown
	}
	var b [8]byte
	copy(b[8-epochBytes:], raw[:epochBytes])
	switch epoch := binary.BigEndian.Uint64(b[:]); {
	case epoch == i.Epoch && countOf(id) <= i.Count && hmac.Equal([]byte(i.spell(countOf(id))), []byte(id)):
		return ErrExpired
	case epoch < i.Epoch && epoch > 0:
		return ErrRestarted
	}
	return ErrUnknown
}

// countOf is which job of its table an id belongs to.
func countOf(id string) uint32 {
	raw, err := hex.DecodeString(id)
	if err != nil || len(raw) != idBytes {
		return 0
	}
	return binary.BigEndian.Uint32(raw[epochBytes:])
}
