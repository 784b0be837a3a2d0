// Asks Kubernetes' own Go code what it makes of device selectors, and prints the answers as JSON, one a line.
//
//	go mod init oracle && go get k8s.io/dynamic-resource-allocation@v0.37.1 && go mod tidy
//	go run . < ../../testdata/cel/selectors.txt > ../../testdata/cel/answers-1.37.jsonl
//	go run . -lists < ../../testdata/cel/list_selectors.txt > ../../testdata/cel/list-answers-1.37.jsonl
//
// Input: one expression a line; empty lines and lines that begin with # are skipped. With -lists (1.36 and later) the gate
// DRAListTypeAttributes is on, and the device has lists. The devices are those of src/cel/test_device.h.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"reflect"
	"strings"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apiserver/pkg/cel/environment"
	dracel "k8s.io/dynamic-resource-allocation/cel"
	"k8s.io/utils/ptr"
)

// Answer is what one expression gave. An empty error means that there was none.
type Answer struct {
	Expression string `json:"expression"`
	NewError   string `json:"newError,omitempty"`    // The API server's: on create or change.
	Estimate   uint64 `json:"estimate,omitempty"`    // The API server's, when it compiled.
	Error      string `json:"storedError,omitempty"` // The scheduler's, when it compiles.
	Match      bool   `json:"match"`
	Runtime    string `json:"runtimeError,omitempty"`
	Cost       uint64 `json:"cost"`
}

func device() dracel.Device {
	text := func(value string) resourceapi.DeviceAttribute {
		return resourceapi.DeviceAttribute{StringValue: &value}
	}
	version := func(value string) resourceapi.DeviceAttribute {
		return resourceapi.DeviceAttribute{VersionValue: &value}
	}
	return dracel.Device{
		Driver: "gpu.nvidia.com",
		Attributes: map[resourceapi.QualifiedName]resourceapi.DeviceAttribute{
			"type":                            text("gpu"),
			"productName":                     text("NVIDIA H200"),
			"architecture":                    text("Hopper"),
			"minor":                           {IntValue: ptr.To(int64(3))},
			"migCapable":                      {BoolValue: ptr.To(true)},
			"driverVersion":                   version("570.158.1"),
			"resource.kubernetes.io/pcieRoot": text("pci0000:40"),
		},
		Capacity: map[resourceapi.QualifiedName]resourceapi.DeviceCapacity{
			"memory": {Value: resource.MustParse("143771Mi")},
		},
	}
}

// As JSON, because older releases have no fields for lists.
func deviceWithLists() dracel.Device {
	nic := dracel.Device{Driver: "nic.example.com", AllowMultipleAllocations: ptr.To(true)}
	if err := json.Unmarshal([]byte(`{
		"kind": {"string": "nic"},
		"port": {"int": 2},
		"fabrics": {"strings": ["blue", "green"]},
		"lanes": {"ints": [0, 1, 4]},
		"duplex": {"bools": [true, false]},
		"protocols": {"versions": ["1.2.0", "2.0.0"]},
		"resource.kubernetes.io/numaNode": {"ints": [3]}
	}`), &nic.Attributes); err != nil {
		panic(err)
	}
	nic.Capacity = map[resourceapi.QualifiedName]resourceapi.DeviceCapacity{"bandwidth": {Value: resource.MustParse("100G")}}
	return nic
}

func features(lists bool) dracel.Features {
	features := dracel.Features{EnableConsumableCapacity: true}
	if lists {
		reflect.ValueOf(&features).Elem().FieldByName("EnableListTypeAttributes").SetBool(true)
	}
	return features
}

func ask(expression string, lists bool) Answer {
	answer := Answer{Expression: expression}
	compiler := dracel.GetCompiler(features(lists))
	admitted := compiler.CompileCELExpression(expression, dracel.Options{EnvType: ptr.To(environment.NewExpressions)})
	if admitted.Error != nil {
		answer.NewError = admitted.Error.Detail
	} else {
		answer.Estimate = admitted.MaxCost
	}
	stored := compiler.CompileCELExpression(expression, dracel.Options{DisableCostEstimation: true})
	if stored.Error != nil {
		answer.Error = stored.Error.Detail
		return answer
	}
	about := device()
	if lists {
		about = deviceWithLists()
	}
	match, details, err := stored.DeviceMatches(context.Background(), about)
	if err != nil {
		answer.Runtime = err.Error()
	}
	answer.Match = match
	if details != nil && details.ActualCost() != nil {
		answer.Cost = *details.ActualCost()
	}
	return answer
}

func main() {
	lists := flag.Bool("lists", false, "ask about the device with lists")
	flag.Parse()
	lines := bufio.NewScanner(os.Stdin)
	out := json.NewEncoder(os.Stdout)
	out.SetEscapeHTML(false)
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if err := out.Encode(ask(line, *lists)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}
