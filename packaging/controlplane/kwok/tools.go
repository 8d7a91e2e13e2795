//go:build tools

// Package kwok names the simulated kubelet that benchmarks are held against.
package kwok

import _ "sigs.k8s.io/kwok/cmd/kwok"
