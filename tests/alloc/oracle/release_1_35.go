//go:build kubernetes_1_35

package main

import (
	"errors"

	dracel "k8s.io/dynamic-resource-allocation/cel"
	"k8s.io/dynamic-resource-allocation/structured"
)

// What the scheduler has on by default.
var features = structured.Features{AdminAccess: true, PrioritizedList: true}
var celFeatures = dracel.Features{}

const listsInConstraints = false

func failedOnNode(err error) bool { return errors.Is(err, structured.ErrFailedAllocationOnNode) }
