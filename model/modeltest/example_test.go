package modeltest_test

import (
	"context"
	"fmt"
	"image"

	"github.com/visions-mcp/visions/model"
	"github.com/visions-mcp/visions/model/modeltest"
)

// A host gives the scripted model to its engine as
// visions.Config{Models: map[string]model.Model{"": m}} and asks its tools.
func Example() {
	m := modeltest.New(
		modeltest.Answer{Text: "A login form."},
		modeltest.Answer{Err: &model.Error{Kind: model.KindUnavailable, Model: modeltest.Name}},
	)
	req := &model.Request{Model: modeltest.Name, Prompt: "What is this?", Images: []image.Image{image.NewGray(image.Rect(0, 0, 640, 480))}}

	res, err := m.Chat(context.Background(), req, nil)
	fmt.Println(res.Text, err)
	_, err = m.Chat(context.Background(), req, nil)
	fmt.Println(err)
	fmt.Println(len(m.Requests()), m.Requests()[0].Prompt)
	// Output:
	// A login form. <nil>
	// model "scripted:latest": unavailable
	// 2 What is this?
}
