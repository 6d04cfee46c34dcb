package admission

import "context"

type clientKey struct{}

// WithClient names the client that the calls under ctx belong to: any
// comparable value that is one client's alone, such as its connection.
func WithClient(ctx context.Context, client any) context.Context {
	return context.WithValue(ctx, clientKey{}, client)
}

// Client returns the client named by [WithClient], nil when there is none.
func Client(ctx context.Context) any { return ctx.Value(clientKey{}) }
