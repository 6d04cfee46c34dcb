package model

import "regexp"

// imageTag matches the marks by which Ollama and llama.cpp place images in a
// prompt. In text from outside they would move an image or break the call.
var imageTag = regexp.MustCompile(`[\[<](img|img-\d+|__media__|__image__)[\]>]`)

// neutral takes the meaning out of image marks and keeps them readable.
func neutral(s string) string { return imageTag.ReplaceAllString(s, "($1)") }
