// Package tig stands in for a helper of nerdctl's own tests that no module proxy has: nerdctl replaces it by a folder of its
// repository. The program links the type and never calls it.
package tig

// T is what a test gives its helpers.
type T interface {
	Log(args ...any)
	FailNow()
}
