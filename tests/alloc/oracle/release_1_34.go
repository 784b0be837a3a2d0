//go:build kubernetes_1_34

package main

import (
	dracel "k8s.io/dynamic-resource-allocation/cel"
	"k8s.io/dynamic-resource-allocation/structured"
)

// What the scheduler has on by default. DeviceStatus alone makes it take its newest copy of the allocator.
var features = structured.Features{AdminAccess: true, PrioritizedList: true, DeviceStatus: true}
var celFeatures = dracel.Features{}

const listsInConstraints = false

// There are no errors yet that are about one node only.
func failedOnNode(error) bool { return false }
