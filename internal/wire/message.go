package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// Own error codes, outside the range that JSON-RPC and MCP keep for
// themselves (-32768 to -32000).
const (
	CodeBusy     = 1001 // a limit of this server is used up; a retry can help
	CodeStopping = 1002 // the server is stopping
)

// modernVersion is the first protocol revision without sessions: each request
// names its version in _meta.
const modernVersion = "2026-07-28"

// detachBytes is the size of arguments, in bytes, above which they bypass the
// SDK's decoders (see [Message.Detach]).
const detachBytes = 16 << 10

// maxSafeInteger is the largest integer id that the SDK, which reads ids as
// float64, keeps exact.
const maxSafeInteger = 1 << 53

// defaultInitialize stands in for an initialize request's missing params.
var defaultInitialize = json.RawMessage(`{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"unknown","version":"0"}}`)

// Message is one JSON-RPC message. Its slices alias the bytes it was parsed
// from.
type Message struct {
	ID       json.RawMessage // as sent; nil when there is none
	Key      jsonrpc.ID      // the id for the SDK; two spellings of one id are equal
	Method   string          // "" for an answer to a request of ours
	Params   json.RawMessage // an object; nil when there are none
	Version  string          // protocol version named in _meta, "" in the older eras
	Progress bool            // _meta has a progressToken
	Cancels  json.RawMessage // requestId of a notifications/cancelled

	result, err json.RawMessage
	argStart    int // arguments within Params
	argEnd      int
	hasMethod   bool
}

// IsCall reports whether the message expects an answer.
func (m *Message) IsCall() bool { return m.hasMethod && m.ID != nil }

// IsNotification reports whether the message is a request without answer.
func (m *Message) IsNotification() bool { return m.hasMethod && m.ID == nil }

// Modern reports whether the message follows the revision without sessions.
func (m *Message) Modern() bool { return m.Version >= modernVersion }

// Detach splits large arguments of a tool call off: params keeps a short text
// in their place, arguments is what the caller sent. It returns nil arguments
// when they are small. The text tells what is wrong when nothing puts the
// arguments back.
func (m *Message) Detach() (params, arguments json.RawMessage) {
	if m.Method != "tools/call" || m.argEnd-m.argStart < detachBytes {
		return m.Params, nil
	}
	const notice = `"arguments were detached, but the server was not given to wire.Prepare"`
	params = make([]byte, 0, len(m.Params)-(m.argEnd-m.argStart)+len(notice))
	params = append(params, m.Params[:m.argStart]...)
	params = append(params, notice...)
	params = append(params, m.Params[m.argEnd:]...)
	return params, m.Params[m.argStart:m.argEnd]
}

// Parse reads one JSON-RPC message. With an error the message still carries
// the id where one could be read. An initialize request without params gets
// default ones.
//
// # Errors
//
// Code -32700 for what is not JSON, -32600 for what is not a request or
// answer (a batch, a wrong version, an id that is neither string nor
// integer), -32602 for params that are not an object.
func Parse(data []byte) (*Message, *jsonrpc.Error) {
	m := &Message{}
	s := &scanner{b: data}
	if !utf8.Valid(data) {
		m.ID = FindID(data)
		return m, rpcError(jsonrpc.CodeParseError, "parse error: the message is not valid UTF-8")
	}
	if s.peek() == '[' {
		return m, rpcError(jsonrpc.CodeInvalidRequest, "invalid request: batches are not supported; send one message at a time")
	}
	if s.peek() != '{' {
		if err := s.all(s.value); err != nil {
			return m, rpcError(jsonrpc.CodeParseError, "parse error: "+err.Error())
		}
		return m, rpcError(jsonrpc.CodeInvalidRequest, "invalid request: a message is a JSON object")
	}
	e := envelope{m: m, s: s}
	if err := s.all(func() error { return s.members(e.member) }); err != nil {
		m.ID = FindID(data)
		return m, rpcError(jsonrpc.CodeParseError, "parse error: "+err.Error())
	}
	return m, e.check()
}

// all crosses one value and nothing behind it.
func (s *scanner) all(value func() error) error {
	if err := value(); err != nil {
		return err
	}
	if s.peek(); s.i < len(s.b) {
		return s.unexpected("the end of the message")
	}
	return nil
}

// envelope collects a message's members in one pass over the bytes.
type envelope struct {
	m       *Message
	s       *scanner
	version json.RawMessage
	method  json.RawMessage
	id      json.RawMessage
	params  json.RawMessage
	twice   string // a member that came more than once
}

func (e *envelope) member(key string) (err error) {
	switch key {
	case "jsonrpc":
		err = e.keep(key, &e.version)
	case "id":
		err = e.keep(key, &e.id)
	case "method":
		err = e.keep(key, &e.method)
	case "result":
		err = e.keep(key, &e.m.result)
	case "error":
		err = e.keep(key, &e.m.err)
	case "params":
		if e.s.peek() != '{' {
			return e.keep(key, &e.params)
		}
		if e.params != nil {
			e.twice = key
		}
		start := e.s.i
		err = e.s.members(func(key string) error { return e.param(key, start) })
		e.params = e.s.b[start:e.s.i:e.s.i]
	default:
		err = e.s.value()
	}
	return err
}

func (e *envelope) keep(key string, to *json.RawMessage) (err error) {
	if *to != nil {
		e.twice = key
	}
	*to, err = e.s.raw()
	return err
}

func (e *envelope) param(key string, start int) error {
	switch key {
	case "arguments":
		if e.m.argEnd > 0 {
			e.twice = "params.arguments"
		}
		e.s.space()
		e.m.argStart = e.s.i - start
		err := e.s.value()
		e.m.argEnd = e.s.i - start
		return err
	case "requestId":
		return e.keep("params.requestId", &e.m.Cancels)
	case "_meta":
		if e.s.peek() == '{' {
			return e.s.members(e.meta)
		}
	}
	return e.s.value()
}

func (e *envelope) meta(key string) error {
	raw, err := e.s.raw()
	if err != nil {
		return err
	}
	switch key {
	case "progressToken":
		e.m.Progress = string(raw) != "null"
	case "io.modelcontextprotocol/protocolVersion":
		if raw[0] == '"' {
			e.m.Version, err = unquote(raw)
		}
	}
	return err
}

// check judges the collected members.
func (e *envelope) check() *jsonrpc.Error {
	m := e.m
	invalid := func(format string, args ...any) *jsonrpc.Error {
		return rpcError(jsonrpc.CodeInvalidRequest, "invalid request: "+fmt.Sprintf(format, args...))
	}
	var idErr error
	if e.id != nil {
		m.Key, idErr = IDKey(e.id)
		if idErr == nil || e.id[0] == '-' || e.id[0] >= '0' && e.id[0] <= '9' {
			m.ID = bytes.Clone(e.id)
		}
	}
	m.hasMethod = e.method != nil
	switch {
	case e.twice != "":
		return invalid("member %q comes twice", e.twice)
	case string(e.version) != `"2.0"`:
		return invalid(`member "jsonrpc" must be "2.0"`)
	case idErr != nil:
		return invalid("%v", idErr)
	case !m.hasMethod && (m.ID == nil || (m.result == nil) == (m.err == nil)):
		return invalid(`a message has a "method", or an "id" with either "result" or "error"`)
	case !m.hasMethod:
		return nil
	case e.method[0] != '"':
		return invalid(`member "method" must be a string`)
	}
	m.Method, _ = unquote(e.method)
	if string(e.params) == "null" {
		e.params = nil
	}
	if e.params != nil && e.params[0] != '{' {
		return rpcError(jsonrpc.CodeInvalidParams, `invalid params: "params" must be an object`)
	}
	m.Params = e.params
	if m.Method == "initialize" && m.Params == nil {
		m.Params = defaultInitialize
	}
	return nil
}

var errID = errors.New(`member "id" must be a string or an integer`)

// IDKey turns an id into the SDK's form, equal for two spellings of one id.
// Integers that the SDK would round become strings which no client sends.
//
// # Errors
//
// For what is neither a string nor an integer.
func IDKey(raw json.RawMessage) (jsonrpc.ID, error) {
	if len(raw) == 0 {
		return jsonrpc.ID{}, errID
	}
	if raw[0] == '"' {
		text, err := unquote(raw)
		if err != nil {
			return jsonrpc.ID{}, err
		}
		return jsonrpc.MakeID(text)
	}
	if c := raw[0]; c != '-' && (c < '0' || c > '9') || bytes.ContainsAny(raw, ".eE") {
		return jsonrpc.ID{}, errID
	}
	n, err := strconv.ParseInt(string(raw), 10, 64)
	if err != nil || n > maxSafeInteger || n < -maxSafeInteger {
		return jsonrpc.MakeID("\x00integer " + string(raw))
	}
	return jsonrpc.MakeID(float64(n))
}

func rpcError(code int64, message string) *jsonrpc.Error {
	return &jsonrpc.Error{Code: code, Message: message}
}

// ErrorFrame encodes an error answer; a nil id becomes null.
func ErrorFrame(id json.RawMessage, e *jsonrpc.Error) []byte {
	if id == nil {
		id = json.RawMessage("null")
	}
	if e.Data != nil && !json.Valid(e.Data) {
		e = rpcError(e.Code, e.Message)
	}
	frame, err := json.Marshal(struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Error   *jsonrpc.Error  `json:"error"`
	}{"2.0", id, e})
	if err != nil { // cannot happen: id and data are valid JSON
		return []byte(`{"jsonrpc":"2.0","id":null,"error":{"code":-32603,"message":"internal error"}}`)
	}
	return frame
}
