//go:build programs

// Package programs names the programs that are built, so that `go mod tidy` keeps what they need.
package programs

import _ "github.com/containerd/nerdctl/v2/cmd/nerdctl"
