{{/* What the DaemonSet's pod is made of. */}}

{{/* The newest version of resource.k8s.io that the cluster serves; empty when it serves none. */}}
{{- define "tessera.resourceApiVersion" -}}
{{- if .Values.resourceApiVersion -}}
{{- .Values.resourceApiVersion -}}
{{- else -}}
{{- $newest := "" -}}
{{- range list "resource.k8s.io/v1beta1" "resource.k8s.io/v1beta2" "resource.k8s.io/v1" -}}
{{- if $.Capabilities.APIVersions.Has . }}{{ $newest = . }}{{ end -}}
{{- end -}}
{{- $newest -}}
{{- end -}}
{{- end }}

{{/* Two instances on one node hand over without a gap; kubelets before 1.33 know only one. */}}
{{- define "tessera.updateStrategy" -}}
{{- if .Values.kubeletPlugin.updateStrategy -}}
{{- toYaml .Values.kubeletPlugin.updateStrategy -}}
{{- else if semverCompare ">=1.33.0-0" .Capabilities.KubeVersion.Version -}}
type: RollingUpdate
rollingUpdate:
  maxSurge: 1
  maxUnavailable: 0
{{- else -}}
type: RollingUpdate
rollingUpdate:
  maxSurge: 0
  maxUnavailable: 1
{{- end -}}
{{- end }}

{{/* "true" when an update puts a second instance on a node, which then needs sockets of its own. */}}
{{- define "tessera.surges" -}}
{{- $strategy := include "tessera.updateStrategy" . | fromYaml -}}
{{- $surge := dig "rollingUpdate" "maxSurge" 0 $strategy | toString -}}
{{- if not (has $surge (list "0" "0%")) }}true{{ end -}}
{{- end }}

{{/* The port of metrics and probes, empty when there is none that a kubelet reaches. */}}
{{- define "tessera.httpPort" -}}
{{- $metrics := .Values.kubeletPlugin.metrics -}}
{{- if and $metrics.enabled (regexMatch "^(0\\.0\\.0\\.0|\\[::\\])?:[0-9]+$" $metrics.gpuHttpEndpoint) -}}
{{- regexFind "[0-9]+$" $metrics.gpuHttpEndpoint -}}
{{- end -}}
{{- end }}

{{/* gRPC health over TCP is opened only where HTTP does not serve the probes. */}}
{{- define "tessera.grpcPort" -}}
{{- $port := .Values.kubeletPlugin.containers.gpus.healthcheckPort | int -}}
{{- if and (not (include "tessera.httpPort" .)) (gt $port 0) }}{{ $port }}{{ end -}}
{{- end }}

{{/*
The host directory mounted at /driver-root. Of a root below "/" it is the parent: a driver container that restarts mounts
its root anew, and a mount of the root itself would go on showing the old one.
*/}}
{{- define "tessera.driverMount" -}}
{{- $root := .Values.nvidiaDriverRoot | default "/" | clean -}}
{{- if eq $root "/" }}/{{ else }}{{ dir $root }}{{ end -}}
{{- end }}

{{/* The driver root as the plugin sees it. */}}
{{- define "tessera.driverRootInside" -}}
{{- $root := .Values.nvidiaDriverRoot | clean -}}
{{- if eq $root "/" }}/driver-root{{ else }}/driver-root/{{ base $root }}{{ end -}}
{{- end }}

{{- define "tessera.podResourcesPath" -}}
{{- printf "%s/pod-resources" (dir (clean .Values.kubeletPlugin.kubeletPluginsDirectoryPath)) -}}
{{- end }}

{{/* Name and text of each variable; none is rendered twice, so that a variable of the user's replaces ours. */}}
{{- define "tessera.env" -}}
{{- $plugin := .Values.kubeletPlugin -}}
{{- $own := dict
  "CDI_ROOT" .Values.cdiRoot
  "KUBELET_REGISTRAR_DIRECTORY_PATH" $plugin.kubeletRegistrarDirectoryPath
  "KUBELET_PLUGINS_DIRECTORY_PATH" $plugin.kubeletPluginsDirectoryPath
  "KUBE_API_QPS" (toString .Values.kubeAPI.qps)
  "KUBE_API_BURST" (toString .Values.kubeAPI.burst)
  "KEEP_GO_CHECKPOINT" (toString .Values.keepGoCheckpoint)
  "PERMANENT_ERRORS" (toString .Values.permanentErrors)
  "LOG_VERBOSITY" (toString .Values.logVerbosity)
  "LOGGING_FORMAT" .Values.loggingFormat
  "NVIDIA_VISIBLE_DEVICES" "void" -}}
{{- if .Values.nvidiaDriverRoot -}}
{{- $_ := set $own "NVIDIA_DRIVER_ROOT" (clean .Values.nvidiaDriverRoot) -}}
{{- $_ := set $own "DRIVER_ROOT_CTR_PATH" (include "tessera.driverRootInside" .) -}}
{{- end -}}
{{- if .Values.nvidiaCDIHookPath -}}
{{- $_ := set $own "NVIDIA_CDI_HOOK_PATH" .Values.nvidiaCDIHookPath -}}
{{- end -}}
{{- if .Values.excludeDevices -}}
{{- $_ := set $own "EXCLUDE_DEVICES" (join "," .Values.excludeDevices) -}}
{{- end -}}
{{- if .Values.featureGates -}}
{{- $gates := list -}}
{{- range $name, $on := .Values.featureGates }}{{ $gates = append $gates (printf "%s=%t" $name $on) }}{{ end -}}
{{- $_ := set $own "FEATURE_GATES" (join "," $gates) -}}
{{- end -}}
{{- if and $plugin.metrics.enabled $plugin.metrics.gpuHttpEndpoint -}}
{{- $_ := set $own "HTTP_ENDPOINT" $plugin.metrics.gpuHttpEndpoint -}}
{{- $_ := set $own "METRICS_PATH" $plugin.metrics.metricsPath -}}
{{- end -}}
{{- with include "tessera.grpcPort" . }}{{ $_ := set $own "HEALTHCHECK_PORT" . }}{{ end -}}
{{- $theirs := list -}}
{{- range $plugin.containers.gpus.env }}{{ $theirs = append $theirs .name }}{{ end -}}
{{- $fields := dict "NODE_NAME" "spec.nodeName" -}}
{{- if include "tessera.surges" . }}{{ $_ := set $fields "POD_UID" "metadata.uid" }}{{ end -}}
{{- range $name, $path := $fields }}
{{- if not (has $name $theirs) }}
- name: {{ $name }}
  valueFrom:
    fieldRef:
      fieldPath: {{ $path }}
{{- end }}
{{- end }}
{{- range $name, $text := $own }}
{{- if not (has $name $theirs) }}
- name: {{ $name }}
  value: {{ $text | quote }}
{{- end }}
{{- end }}
{{- with $plugin.containers.gpus.env }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* A probe's question: HTTP where it is served, otherwise gRPC. Takes a dict of root and path. */}}
{{- define "tessera.probe" -}}
{{- if include "tessera.httpPort" .root -}}
httpGet:
  path: {{ .path }}
  port: http
{{- else -}}
grpc:
  port: {{ include "tessera.grpcPort" .root }}
  service: liveness
{{- end -}}
{{- end }}
