//go:build programs

// Package programs names the programs that are built, so that `go mod tidy` keeps what they need.
package programs

import (
	_ "github.com/docker/cli/cmd/docker"
	_ "github.com/docker/docker/cmd/dockerd"
)
