// Package model asks vision models: one interface, backends for Ollama
// ([NewOllama]) and for servers of the OpenAI chat API ([NewOpenAI]), and the
// guards that make an answer trustworthy. A backend reports success only for an
// answer that is complete. docs/MODELS.md tells what the guards do.
package model

import (
	"context"
	"encoding/json"
	"image"
	"time"
)

// Model is a server of vision models. Implementations are safe for concurrent
// use and do not limit how many calls run at once: the engine does.
type Model interface {
	// Chat asks once and waits for the whole answer. delta, when not nil, is
	// called with each piece of text as it comes. The error is an [*Error].
	Chat(ctx context.Context, req *Request, delta func(text string)) (*Response, error)
	// List returns the installed models.
	List(ctx context.Context) ([]Installed, error)
	// Show returns what is known of one model.
	Show(ctx context.Context, name string) (*Details, error)
	// Running returns the models that hold memory now.
	Running(ctx context.Context) ([]Resident, error)
}

// Defaults of [Request].
const (
	DefaultSeed       = 42
	DefaultNumPredict = 2048 // tokens
	DefaultMaxEdge    = 1568 // pixels
	DefaultTimeout    = 180 * time.Second
)

// Request is one question about images.
type Request struct {
	Model      string
	System     string          // instructions, may be empty
	Prompt     string          // the question
	Images     []image.Image   // full resolution, upright; sent re-encoded and resized
	Messages   []Message       // a conversation, instead of System, Prompt and Images
	Tools      json.RawMessage // functions the model may call, a list as the chat API has it: [{"type":"function","function":{"name":...}}]
	Schema     json.RawMessage // JSON Schema the answer must follow, nil for prose
	Options    Options
	KeepAlive  string        // how long the model stays loaded: "5m", "300", "0", "-1"; "" leaves it to the server
	Timeout    time.Duration // for the whole call; 0 is 180 s
	FirstToken time.Duration // until the first piece of the answer or of the model's thinking, everything before it included; 0 is Timeout
	MaxEdge    int           // longest side of a sent image in pixels; 0 is 1568

	// RetryPartial allows the one retry also when text had already come:
	// delta then sees the pieces of both answers. Set it when delta only
	// counts.
	RetryPartial bool
}

// The roles of a [Message].
const (
	RoleSystem    = "system"
	RoleUser      = "user"
	RoleAssistant = "assistant"
	RoleTool      = "tool" // what a function that the model called has answered
)

// Message is one turn of a conversation.
type Message struct {
	Role   string
	Text   string
	Images []image.Image // as in [Request]
	Calls  []ToolCall    // of an assistant
	CallID string        // of a tool: the call that it answers
	Name   string        // of a tool: the function
}

// ToolCall is a function that the model wants to be called.
type ToolCall struct {
	ID        string // "" where the server gives none
	Name      string
	Arguments json.RawMessage // an object
}

// Options are sampling options. The zero value means temperature 0, seed 42 and
// at most 2048 tokens.
type Options struct {
	Temperature float64 // 0 to 2
	Seed        int     // 0 is 42
	NumPredict  int     // most tokens of the answer, to 131072; 0 is 2048
}

func (o Options) filled() Options {
	if o.Seed == 0 {
		o.Seed = DefaultSeed
	}
	if o.NumPredict == 0 {
		o.NumPredict = DefaultNumPredict
	}
	return o
}

// Response is a complete answer.
type Response struct {
	Text             string
	Calls            []ToolCall // functions to call; Text may then be empty
	Model            string     // as the server spells it
	Options          Options    // as used
	Images           []Sent     // as sent, in the order of the request
	TimeToFirstToken time.Duration
	Total            time.Duration
	Load             time.Duration // spent loading the model
	PromptTokens     int
	Tokens           int
	Attempts         int      // 2 when it was asked again
	Warnings         []string // what the reader of the answer must know
}

// Installed is a model that the server has.
type Installed struct {
	Name   string
	Digest string
	Size   int64 // bytes
	Vision bool  // it can look at images, as far as the server says
}

// Details is what the server says of a model.
type Details struct {
	Name         string
	Capabilities []string // "completion", "vision", "tools", ...
	Vision       bool
	Context      int // longest input and answer in tokens, 0 when unknown
}

// Resident is a model that holds memory.
type Resident struct {
	Name    string
	Size    int64 // bytes
	VRAM    int64 // bytes of it on a GPU
	Expires time.Time
}
