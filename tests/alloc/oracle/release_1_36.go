//go:build kubernetes_1_36

package main

import (
	"errors"

	dracel "k8s.io/dynamic-resource-allocation/cel"
	"k8s.io/dynamic-resource-allocation/structured"
)

// What the scheduler has on by default.
var features = structured.Features{AdminAccess: true, PrioritizedList: true, PartitionableDevices: true,
	DeviceTaints: true, DeviceBindingAndStatus: true, ConsumableCapacity: true}
var celFeatures = dracel.Features{EnableConsumableCapacity: true}

// The scheduler hands DRAListTypeAttributes to its selectors, but not to the allocator.
const listsInConstraints = false

func failedOnNode(err error) bool { return errors.Is(err, structured.ErrFailedAllocationOnNode) }
