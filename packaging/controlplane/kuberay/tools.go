//go:build tools

// Package kuberay names the operator, so that go.mod and go.sum hold what it needs.
package kuberay

import _ "github.com/ray-project/kuberay/ray-operator"
