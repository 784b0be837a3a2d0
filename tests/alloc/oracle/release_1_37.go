//go:build kubernetes_1_37

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

const listsInConstraints = true

func failedOnNode(err error) bool { return errors.Is(err, structured.ErrFailedAllocationOnNode) }
