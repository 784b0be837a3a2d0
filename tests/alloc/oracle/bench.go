package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"syscall"
	"time"
	"unsafe"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	dracel "k8s.io/dynamic-resource-allocation/cel"
	"k8s.io/dynamic-resource-allocation/structured"
)

// Kubernetes' side of bench/alloc; ours, bench/alloc/alloc_bench.cc, does the same things in the same order.
//
//	oracle allocate FILE MILLISECONDS   {"answer": …, "ns": …} on one line; the answer is T when it took longer than filterTimeout
//	oracle cel FILE MILLISECONDS        {"answer": …, "compile_ns": …, "evaluate_ns": …} a line, an expression each

// How long the scheduler lets its plugin look for devices on a node.
const filterTimeout = 10 * time.Second

type allocationInput struct {
	Nodes   []string `json:"nodes"`
	Problem Problem  `json:"problem"`
}

type celInput struct {
	Expressions []string                  `json:"expressions"`
	Slice       resourceapi.ResourceSlice `json:"slice"`
}

// Of this thread: what others do on a busy machine is not part of it, nor is what Go's garbage collector does on threads
// of its own.
func cpuNanoseconds() float64 {
	const clockThreadCPUTime = 3 // CLOCK_THREAD_CPUTIME_ID
	var now syscall.Timespec
	if _, _, errno := syscall.Syscall(syscall.SYS_CLOCK_GETTIME, clockThreadCPUTime, uintptr(unsafe.Pointer(&now)), 0); errno != 0 {
		panic(errno)
	}
	return float64(now.Nano())
}

func nanosecondsOf(times int, operation func()) float64 {
	start := cpuNanoseconds()
	for range times {
		operation()
	}
	return (cpuNanoseconds() - start) / float64(times)
}

// The median of as many samples as fit into the time, five at least. A sample repeats what is too short for the clock.
func medianNanoseconds(limit time.Duration, operation func()) float64 {
	const sample = 200_000
	once := nanosecondsOf(1, operation) // Also warms up.
	repeats := max(1, int(sample/once))
	var samples []float64
	for end := time.Now().Add(limit); len(samples) < 5 || time.Now().Before(end); {
		samples = append(samples, nanosecondsOf(repeats, operation))
	}
	slices.Sort(samples)
	return samples[len(samples)/2]
}

// The first node that has what the claims want; T when the time was over before.
func ask(allocator structured.Allocator, nodes []*corev1.Node, claims []*resourceapi.ResourceClaim) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), filterTimeout)
	defer cancel()
	for _, node := range nodes {
		results, err := allocator.Allocate(ctx, node, claims)
		if ctx.Err() != nil {
			return "T", nil
		}
		if err != nil {
			return "", err
		}
		if results != nil {
			devices, details := writeAll(results)
			return fmt.Sprintf("%s: %s %s", node.Name, devices, short(details)), nil
		}
	}
	return "-", nil
}

func measureAllocation(file string, limit time.Duration) error {
	var input allocationInput
	if err := read(file, &input); err != nil {
		return err
	}
	ctx := context.Background()
	allocator, err := newAllocator(ctx, input.Problem)
	if err != nil {
		return err
	}
	var nodes []*corev1.Node
	for _, name := range input.Nodes {
		nodes = append(nodes, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}})
	}
	start := cpuNanoseconds()
	answer, err := ask(allocator, nodes, input.Problem.Claims)
	if err != nil {
		return err
	}
	took := cpuNanoseconds() - start
	if answer != "T" {
		took = medianNanoseconds(limit, func() {
			for _, node := range nodes {
				if results, err := allocator.Allocate(ctx, node, input.Problem.Claims); results != nil || err != nil {
					break
				}
			}
		})
	}
	return show(map[string]any{"answer": answer, "ns": took})
}

// As the scheduler compiles, without an estimate of the cost, but without its cache.
func measureCel(file string, limit time.Duration) error {
	var input celInput
	if err := read(file, &input); err != nil {
		return err
	}
	ctx := context.Background()
	first := input.Slice.Spec.Devices[0]
	device := dracel.Device{Driver: input.Slice.Spec.Driver, AllowMultipleAllocations: first.AllowMultipleAllocations,
		Attributes: first.Attributes, Capacity: first.Capacity}
	compiler := dracel.GetCompiler(celFeatures)
	options := dracel.Options{DisableCostEstimation: true}
	for _, expression := range input.Expressions {
		selector := compiler.CompileCELExpression(expression, options)
		if selector.Error != nil {
			return selector.Error
		}
		match, _, err := selector.DeviceMatches(ctx, device)
		if err != nil {
			return err
		}
		compile := medianNanoseconds(limit, func() { compiler.CompileCELExpression(expression, options) })
		evaluate := medianNanoseconds(limit, func() { selector.DeviceMatches(ctx, device) })
		if err := show(map[string]any{"answer": match, "compile_ns": compile, "evaluate_ns": evaluate}); err != nil {
			return err
		}
	}
	return nil
}

func read(file string, input any) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, input)
}

func show(found map[string]any) error {
	text, err := json.Marshal(found)
	fmt.Println(string(text))
	return err
}

func measure(args []string) error {
	runtime.LockOSThread()
	if len(args) == 3 {
		milliseconds, err := strconv.ParseUint(args[2], 10, 32)
		limit := time.Duration(milliseconds) * time.Millisecond
		switch {
		case err != nil:
			return err
		case args[0] == "allocate":
			return measureAllocation(args[1], limit)
		case args[0] == "cel":
			return measureCel(args[1], limit)
		}
	}
	return errors.New("usage: oracle allocate FILE MILLISECONDS | cel FILE MILLISECONDS; without arguments, problems on standard input")
}
