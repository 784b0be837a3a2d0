// Asks Kubernetes' own allocator for the answers to allocation problems: one problem a line on standard input, one answer
// a line on standard output. tests/alloc/problem.h says what an answer looks like; both sides must print it the same way.
//
//	tests/alloc/oracle/ask --help
//
// With arguments it measures instead: bench.go.
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"reflect"
	"sort"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	dracel "k8s.io/dynamic-resource-allocation/cel"
	"k8s.io/dynamic-resource-allocation/structured"
)

// Patience is how long one problem may take. An answer "T" is nobody's fault.
const patience = 5 * time.Second

// Problem is what the generator writes.
type Problem struct {
	Node      corev1.Node                                 `json:"node"`
	Classes   []resourceapi.DeviceClass                   `json:"classes"`
	Slices    []*resourceapi.ResourceSlice                `json:"slices"`
	Allocated []resourceapi.DeviceRequestAllocationResult `json:"allocated"`
	Claims    []*resourceapi.ResourceClaim                `json:"claims"`
	Gates     map[string]bool                             `json:"gates"`
}

type classes map[string]*resourceapi.DeviceClass

func (c classes) List() ([]*resourceapi.DeviceClass, error) { return nil, errors.New("not needed") }

func (c classes) Get(name string) (*resourceapi.DeviceClass, error) {
	if class, ok := c[name]; ok {
		return class, nil
	}
	return nil, fmt.Errorf("deviceclass.resource.k8s.io %q not found", name)
}

// As the scheduler's plugin builds it from allocated claims.
func allocatedState(results []resourceapi.DeviceRequestAllocationResult) structured.AllocatedState {
	state := structured.AllocatedState{
		AllocatedDevices:         sets.New[structured.DeviceID](),
		AllocatedSharedDeviceIDs: sets.New[structured.SharedDeviceID](),
		AggregatedCapacity:       structured.NewConsumedCapacityCollection(),
	}
	for _, result := range results {
		if result.AdminAccess != nil && *result.AdminAccess {
			continue
		}
		id := structured.MakeDeviceID(result.Driver, result.Pool, result.Device)
		if result.ShareID == nil {
			state.AllocatedDevices.Insert(id)
			continue
		}
		share := types.UID(*result.ShareID)
		state.AllocatedSharedDeviceIDs.Insert(structured.MakeSharedDeviceID(id, &share))
		if result.ConsumedCapacity != nil {
			state.AggregatedCapacity.Insert(structured.NewDeviceConsumedCapacity(id, result.ConsumedCapacity))
		}
	}
	return state
}

func amounts(consumed map[resourceapi.QualifiedName]resource.Quantity) string {
	var parts []string
	for name, amount := range consumed {
		parts = append(parts, fmt.Sprintf("%s=%s", name, amount.String()))
	}
	sort.Strings(parts)
	return strings.Join(parts, ",")
}

func requirements(list []corev1.NodeSelectorRequirement) string {
	var parts []string
	for _, r := range list {
		parts = append(parts, fmt.Sprintf("%s %s %s", r.Key, r.Operator, strings.Join(r.Values, ",")))
	}
	return strings.Join(parts, ",")
}

// Devices are the part that people compare, details the rest.
func write(result resourceapi.AllocationResult) (devices, details string) {
	var names []string
	var text strings.Builder
	for _, r := range result.Devices.Results {
		name := fmt.Sprintf("%s=%s/%s/%s", r.Request, r.Driver, r.Pool, r.Device)
		if r.AdminAccess != nil && *r.AdminAccess {
			name += "*"
		}
		if r.ShareID != nil {
			name += "%"
		}
		names = append(names, name)
		fmt.Fprintf(&text, "[%s %d %s %s]", amounts(r.ConsumedCapacity), len(r.Tolerations),
			strings.Join(r.BindingConditions, ","), strings.Join(r.BindingFailureConditions, ","))
	}
	for _, config := range result.Devices.Config {
		var parameters bytes.Buffer
		driver := ""
		if config.Opaque != nil {
			driver = config.Opaque.Driver
			if err := json.Compact(&parameters, config.Opaque.Parameters.Raw); err != nil {
				panic(err)
			}
		}
		fmt.Fprintf(&text, "{%s %s %s %s}", config.Source, strings.Join(config.Requests, ","), driver, parameters.String())
	}
	if selector := result.NodeSelector; selector != nil {
		for _, term := range selector.NodeSelectorTerms {
			fmt.Fprintf(&text, "<%s|%s>", requirements(term.MatchFields), requirements(term.MatchExpressions))
		}
	}
	return strings.Join(names, " "), text.String()
}

func short(text string) string {
	hash := fnv.New32a()
	hash.Write([]byte(text))
	return fmt.Sprintf("#%08x", hash.Sum32())
}

// How often the allocator looked for a device. It tells only its own tests, whose types cannot be named here.
func steps(allocator structured.Allocator) int64 {
	return reflect.ValueOf(allocator).MethodByName("GetStats").Call(nil)[0].FieldByName("NumAllocateOneInvocations").Int()
}

// With the problem's gates. By name, because not every release has every field.
func featuresOf(problem Problem) structured.Features {
	changed := features
	for gate, on := range problem.Gates {
		field := strings.TrimPrefix(gate, "DRA")
		if field == "DeviceBindingConditions" {
			field = "DeviceBindingAndStatus"
		}
		if field != "ListTypeAttributes" || listsInConstraints {
			set(&changed, field, on)
		}
	}
	return changed
}

func celFeaturesOf(problem Problem) dracel.Features {
	changed := celFeatures
	for gate, field := range map[string]string{"DRAConsumableCapacity": "EnableConsumableCapacity",
		"DRAListTypeAttributes": "EnableListTypeAttributes"} {
		if on, given := problem.Gates[gate]; given {
			set(&changed, field, on)
		}
	}
	return changed
}

func set(features any, field string, on bool) {
	reflect.ValueOf(features).Elem().FieldByName(field).SetBool(on)
}

func newAllocator(ctx context.Context, problem Problem) (structured.Allocator, error) {
	byName := classes{}
	for i := range problem.Classes {
		byName[problem.Classes[i].Name] = &problem.Classes[i]
	}
	cache := dracel.NewCache(10, celFeaturesOf(problem))
	return structured.NewAllocator(ctx, featuresOf(problem), allocatedState(problem.Allocated), byName, problem.Slices, cache)
}

// The answer, and what its hash stands for.
func answer(problem Problem) (string, string) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	allocator, err := newAllocator(ctx, problem)
	if err != nil {
		return "E " + short(err.Error()), err.Error()
	}
	results, err := allocator.Allocate(ctx, &problem.Node, problem.Claims)
	steps := fmt.Sprintf(" @%d", steps(allocator))
	switch {
	case ctx.Err() != nil:
		return "T", ""
	case err != nil && failedOnNode(err):
		return "!" + steps, err.Error()
	case err != nil:
		return "E " + short(err.Error()), err.Error()
	case results == nil:
		return "-" + steps, ""
	}
	devices, details := writeAll(results)
	return devices + " " + short(details) + steps, details
}

func writeAll(results []resourceapi.AllocationResult) (devices, details string) {
	var names, rests []string
	for _, result := range results {
		name, rest := write(result)
		names = append(names, name)
		rests = append(rests, rest)
	}
	return strings.Join(names, "; "), strings.Join(rests, ";")
}

func main() {
	if len(os.Args) > 1 {
		if err := measure(os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, "oracle:", err)
			os.Exit(1)
		}
		return
	}
	input := bufio.NewScanner(os.Stdin)
	input.Buffer(nil, 16<<20)
	output := bufio.NewWriter(os.Stdout)
	defer output.Flush()
	for input.Scan() {
		var problem Problem
		if err := json.Unmarshal(input.Bytes(), &problem); err != nil {
			fmt.Fprintln(os.Stderr, "oracle:", err)
			os.Exit(1)
		}
		line, details := answer(problem)
		fmt.Fprintf(output, "%s\t%s\n", line, strings.ReplaceAll(details, "\n", "\\n"))
	}
}
