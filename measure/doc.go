// Package measure answers questions about pixels by arithmetic: contrast,
// colours, boxes, layout, differences. Nothing here guesses with a model, reads
// a file or keeps state, and the same pixels give the same answer to the byte
// for any number of workers.
//
// Every function takes an [image.Image] of any kind. Coordinates in answers are
// the image's own: those of its Bounds. Transparent pixels count as they look
// on white, which is what a page behind them most often is; [Over] composites a
// single colour.
//
// The colour arithmetic follows WCAG 2.2 (relative luminance, contrast ratio),
// APCA-W3 0.1.9 and CSS Color 4; each function names its source.
package measure
