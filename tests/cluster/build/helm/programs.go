//go:build programs

// Package programs names the programs that are built, so that `go mod tidy` keeps what they need.
package programs

import _ "helm.sh/helm/v3/cmd/helm"
