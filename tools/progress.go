package tools

import "context"

// Progress is told what a call is doing: a phase in words, and how many units
// of it are done (bytes, tokens, frames), total 0 when not known.
type Progress func(phase string, done, total float64)

type progressKey struct{}

// WithProgress gives a call somebody to tell its progress to.
func WithProgress(ctx context.Context, p Progress) context.Context {
	return context.WithValue(ctx, progressKey{}, p)
}

// Report tells the call's progress; without a listener it does nothing.
func Report(ctx context.Context, phase string, done, total float64) {
	if p, ok := ctx.Value(progressKey{}).(Progress); ok {
		p(phase, done, total)
	}
}

type streamKey struct{}

// withStream gives a call somebody to hear a model's answer as it comes.
func withStream(ctx context.Context, heard func(text string)) context.Context {
	return context.WithValue(ctx, streamKey{}, heard)
}

// streamOf returns who hears the model's answer, nil for nobody.
func streamOf(ctx context.Context) func(text string) {
	heard, _ := ctx.Value(streamKey{}).(func(string))
	return heard
}
