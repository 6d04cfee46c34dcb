package model

import "regexp"

// imageTag matches the marks by which Ollama places images in a prompt. In text
// from outside they would move an image or break the call.
var imageTag = regexp.MustCompile(`\[img(-\d+)?\]`)

// neutral takes the meaning out of image marks and keeps them readable.
func neutral(s string) string { return imageTag.ReplaceAllString(s, "(img$1)") }
