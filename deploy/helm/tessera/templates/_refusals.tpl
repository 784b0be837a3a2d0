{{/*
What this chart refuses, each with the form that works. Everything that is wrong is told at once.
Each definition renders nothing, or one message.
*/}}

{{/* The guide of the Go driver nests its values as only a parent chart would read them. */}}
{{- define "tessera.refuse.nesting" -}}
{{- $keys := list "charts" "nvidia-dra-driver-gpu" "dra-driver-nvidia-gpu" -}}
{{- range $key := $keys }}
{{- with index $.Values $key }}
{{- $inner := . -}}
{{- if eq $key "charts" }}{{ $inner = first (values .) }}{{ end -}}
{{- if not (kindIs "map" $inner) }}{{ $inner = dict }}{{ end -}}
{{- $inner = omit $inner "image" | merge (dict "image" (dict "repository" "REGISTRY/tessera")) -}}
values below "{{ $key }}:" reach no template. Write them at the top level, with Tessera's image:

{{ toYaml $inner | indent 2 }}
{{- end }}
{{- end }}
{{- end }}

{{- define "tessera.refuse.image" -}}
{{- $repository := .Values.image.repository -}}
{{- if regexMatch "(^|/)(k8s-dra-driver(-gpu)?|dra-driver-nvidia-gpu)$" $repository -}}
image.repository "{{ $repository }}" is the Go driver's image. Push Tessera's (`make image`) to a registry of yours:

  image:
    repository: REGISTRY/tessera
    tag: "{{ .Chart.AppVersion }}"
{{- else if regexMatch "^v?25\\." .Values.image.tag -}}
image.tag "{{ .Values.image.tag }}" is a release of the Go driver. Leave the tag out for this chart's own, or:

  image:
    tag: "{{ .Chart.AppVersion }}"
{{- end }}
{{- end }}

{{- define "tessera.refuse.resources" -}}
{{- if .Values.resources.computeDomains.enabled -}}
ComputeDomains are not served yet. Switch them off here; the Go driver's own plugin for them may stay installed beside
Tessera, with its resources.gpus.enabled=false:

  resources:
    computeDomains:
      enabled: false
{{- else if not .Values.resources.gpus.enabled -}}
resources.gpus.enabled=false leaves nothing to install: GPUs are all that this chart serves:

  resources:
    gpus:
      enabled: true
{{- end }}
{{- end }}

{{- define "tessera.refuse.webhook" -}}
{{- if .Values.webhook.enabled -}}
the admission webhook is not served yet; configs are checked when a claim is prepared:

  webhook:
    enabled: false
{{- end }}
{{- end }}

{{- define "tessera.refuse.featureGates" -}}
{{- $unserved := list "ConsumableShares" "DRAListTypeAttributes" "DeviceMetadata" "DynamicMIG"
  "FabricManagerPartitioning" "MPSSupport" "PassthroughSupport" "TimeSlicingSettings" -}}
{{- $asked := list -}}
{{- range $name, $on := .Values.featureGates -}}
{{- if and $on (has $name $unserved) }}{{ $asked = append $asked $name }}{{ end -}}
{{- end -}}
{{- if $asked -}}
not served yet: {{ join ", " $asked }}. Claims that need one of them are refused at Prepare. Leave them out, or:

  featureGates:
{{- range $asked }}
    {{ . }}: false
{{- end }}
{{- end }}
{{- end }}

{{- define "tessera.refuse.consumableShares" -}}
{{- if not (has (toString .Values.consumableShares) (list "" "disabled")) -}}
consumable shares are not served yet:

  consumableShares: disabled
{{- end }}
{{- end }}

{{- define "tessera.refuse.maskedParams" -}}
{{- if .Values.maskNvidiaDriverParams -}}
maskNvidiaDriverParams is not served; containers with a GPU get masked parameters in any case, by a CDI hook:

  maskNvidiaDriverParams: false
{{- end }}
{{- end }}

{{- define "tessera.refuse.legacy" -}}
{{- if index .Values "nvidiaCtkPath" -}}
nvidiaCtkPath is a value of old releases of the Go driver. The hook program comes with Tessera's image; to use another:

  nvidiaCDIHookPath: /usr/bin/nvidia-cdi-hook
{{- end }}
{{- end }}

{{- define "tessera.refuse.namespace" -}}
{{- if index .Values "namespace" -}}
namespace is no value. Give it to Helm, or, for objects in another namespace than the release:

  namespaceOverride: {{ .Values.namespace }}
{{- else if and (eq (include "tessera.namespace" .) "default") (not .Values.allowDefaultNamespace) -}}
a privileged driver does not belong into the namespace "default". Give Helm another:

  --namespace tessera --create-namespace

or insist:

  allowDefaultNamespace: true
{{- end }}
{{- end }}

{{- define "tessera.refuse.resourceApi" -}}
{{- if not (include "tessera.resourceApiVersion" .) -}}
the cluster serves no resource.k8s.io/v1, v1beta2 or v1beta1. From Kubernetes 1.34 on it is there; in 1.32 and 1.33
switch on the feature gate DynamicResourceAllocation and the API version. Where Helm cannot ask the cluster:

  resourceApiVersion: resource.k8s.io/v1
{{- end }}
{{- end }}

{{- define "tessera.refuse.surge" -}}
{{- if and (include "tessera.surges" .) (semverCompare "<1.33.0-0" .Capabilities.KubeVersion.Version) -}}
kubelets before 1.33 do not know two instances of one plugin, so an update cannot surge:

  kubeletPlugin:
    updateStrategy:
      type: RollingUpdate
      rollingUpdate:
        maxSurge: 0
        maxUnavailable: 1
{{- end }}
{{- end }}

{{- define "tessera.refuse.monitoring" -}}
{{- if and .Values.serviceMonitor.enabled (not (include "tessera.httpPort" .)) -}}
serviceMonitor.enabled=true, but metrics are off or not reachable from outside the pod:

  kubeletPlugin:
    metrics:
      enabled: true
      gpuHttpEndpoint: ":8080"
{{- end }}
{{- end }}

{{- define "tessera.refusals" -}}
{{- $messages := list -}}
{{- range list "nesting" "image" "resources" "webhook" "featureGates" "consumableShares" "maskedParams" "legacy"
  "namespace" "resourceApi" "surge" "monitoring" -}}
{{- with include (printf "tessera.refuse.%s" .) $ | trim }}{{ $messages = append $messages . }}{{ end -}}
{{- end -}}
{{- join "\n\n" $messages -}}
{{- end }}
