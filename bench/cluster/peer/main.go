// The smallest DRA driver that Kubernetes' own Go library allows: eight devices that are only names. What the library
// does is the least that any driver built on it costs; bench/cluster/README.md compares.
//
// Where the library leaves a choice, the cheaper one is taken: no limit on requests to the API server, protobuf, calls
// side by side, no health service, nothing kept on disk but the CDI file.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/dynamic-resource-allocation/kubeletplugin"
	"k8s.io/dynamic-resource-allocation/resourceslice"
)

const (
	driverName = "peer.bench.tessera"
	cdiKind    = driverName + "/claim"
	cdiRoot    = "/var/run/cdi"
	devices    = 8
)

type driver struct{}

func main() {
	node := flag.String("node-name", "", "the Node this runs on")
	kubeconfig := flag.String("kubeconfig", "", "access to the API server")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	if err := run(ctx, *node, *kubeconfig); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, node, kubeconfig string) error {
	client, err := connect(kubeconfig)
	if err != nil {
		return err
	}
	for _, dir := range []string{filepath.Join(kubeletplugin.KubeletPluginsDir, driverName), cdiRoot} {
		if err := os.MkdirAll(dir, 0o750); err != nil {
			return err
		}
	}
	helper, err := kubeletplugin.Start(ctx, driver{},
		kubeletplugin.DriverName(driverName),
		kubeletplugin.NodeName(node),
		kubeletplugin.KubeClient(client),
		kubeletplugin.Serialize(false),
		kubeletplugin.HealthService(false))
	if err != nil {
		return err
	}
	defer helper.Stop()
	slice := resourceslice.Slice{}
	for i := range devices {
		slice.Devices = append(slice.Devices, resourceapi.Device{Name: fmt.Sprintf("gpu-%d", i)})
	}
	pool := resourceslice.Pool{Slices: []resourceslice.Slice{slice}}
	resources := resourceslice.DriverResources{Pools: map[string]resourceslice.Pool{node: pool}}
	if err := helper.PublishResources(ctx, resources); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}

func connect(kubeconfig string) (kubernetes.Interface, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	config.QPS = -1 // No limit: as shipped, client-go sends five requests a second.
	config.ContentType = "application/vnd.kubernetes.protobuf"
	return kubernetes.NewForConfig(config)
}

func (driver) PrepareResourceClaims(
	_ context.Context, claims []*resourceapi.ResourceClaim,
) (map[types.UID]kubeletplugin.PrepareResult, error) {
	results := make(map[types.UID]kubeletplugin.PrepareResult, len(claims))
	for _, claim := range claims {
		results[claim.UID] = prepare(claim)
	}
	return results, nil
}

func (driver) UnprepareResourceClaims(
	_ context.Context, claims []kubeletplugin.NamespacedObject,
) (map[types.UID]error, error) {
	results := make(map[types.UID]error, len(claims))
	for _, claim := range claims {
		err := os.Remove(specFile(claim.UID))
		if os.IsNotExist(err) { // The kubelet may ask twice.
			err = nil
		}
		results[claim.UID] = err
	}
	return results, nil
}

func (driver) HandleError(_ context.Context, err error, msg string) {
	fmt.Fprintf(os.Stderr, "%s: %v\n", msg, err)
}

func (driver) WatchHealthStatus(context.Context, chan<- kubeletplugin.DeviceHealthReport) error {
	return kubeletplugin.ErrHealthNotSupported
}

func prepare(claim *resourceapi.ResourceClaim) kubeletplugin.PrepareResult {
	var result kubeletplugin.PrepareResult
	var given []string
	id := cdiKind + "=" + string(claim.UID)
	for _, allocated := range claim.Status.Allocation.Devices.Results {
		if allocated.Driver != driverName {
			continue
		}
		given = append(given, allocated.Device)
		result.Devices = append(result.Devices, kubeletplugin.Device{
			Requests:     []string{allocated.Request},
			PoolName:     allocated.Pool,
			DeviceName:   allocated.Device,
			CDIDeviceIDs: []string{id},
		})
	}
	result.Err = writeSpec(claim.UID, given)
	return result
}

// writeSpec gives the container one variable for each device. Runtimes must never see half a file.
func writeSpec(uid types.UID, given []string) error {
	var env []string
	for i, device := range given {
		env = append(env, fmt.Sprintf("PEER_DEVICE_%d=%s", i, device))
	}
	type object = map[string]any
	spec, err := json.Marshal(object{
		"cdiVersion": "0.5.0",
		"kind":       cdiKind,
		"devices":    []object{{"name": string(uid), "containerEdits": object{"env": env}}},
	})
	if err != nil {
		return err
	}
	unfinished := filepath.Join(cdiRoot, "."+string(uid))
	if err := os.WriteFile(unfinished, spec, 0o600); err != nil {
		return err
	}
	return os.Rename(unfinished, specFile(uid))
}

func specFile(uid types.UID) string {
	return filepath.Join(cdiRoot, "peer-"+string(uid)+".json")
}
