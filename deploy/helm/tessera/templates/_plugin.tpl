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
The host directory mounted at /driver-root. Of a root below "/" it is the parent: a driver container that restarts
mounts its root anew, and a mount of the root itself would go on showing the old one.
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

{{/* The variables that follow from the values, as a map. */}}
{{- define "tessera.variables" -}}
{{- $plugin := .Values.kubeletPlugin -}}
{{- $all := dict
  "ADDITIONAL_XIDS_TO_IGNORE" (join "," .Values.health.ignoreXids)
  "CDI_ROOT" .Values.cdiRoot
  "EXCLUDE_DEVICES" (join "," .Values.excludeDevices)
  "HEALTHCHECK_PORT" (include "tessera.grpcPort" .)
  "HEALTH_LEASE" .Values.health.lease
  "HEALTH_PERIOD" .Values.health.period
  "KEEP_GO_CHECKPOINT" (toString .Values.keepGoCheckpoint)
  "KUBELET_PLUGINS_DIRECTORY_PATH" $plugin.kubeletPluginsDirectoryPath
  "KUBELET_REGISTRAR_DIRECTORY_PATH" $plugin.kubeletRegistrarDirectoryPath
  "KUBE_API_BURST" (toString .Values.kubeAPI.burst)
  "KUBE_API_QPS" (toString .Values.kubeAPI.qps)
  "LOGGING_FORMAT" .Values.loggingFormat
  "LOG_VERBOSITY" (toString .Values.logVerbosity)
  "NVIDIA_CDI_HOOK_PATH" .Values.nvidiaCDIHookPath
  "NVIDIA_VISIBLE_DEVICES" "void"
  "PERMANENT_ERRORS" (.Values.permanentErrors | default "off") -}}
{{- if .Values.nvidiaDriverRoot -}}
{{- $_ := set $all "NVIDIA_DRIVER_ROOT" (clean .Values.nvidiaDriverRoot) -}}
{{- $_ := set $all "DRIVER_ROOT_CTR_PATH" (include "tessera.driverRootInside" .) -}}
{{- end -}}
{{- if .Values.health.policy }}{{ $_ := set $all "HEALTH_POLICY_FILE" "/health-policy/policy.yaml" }}{{ end -}}
{{- if .Values.health.verdictsDirectory }}{{ $_ := set $all "HEALTH_VERDICTS_DIR" "/health-verdicts" }}{{ end -}}
{{- if and $plugin.metrics.enabled $plugin.metrics.gpuHttpEndpoint -}}
{{- $_ := set $all "HTTP_ENDPOINT" $plugin.metrics.gpuHttpEndpoint -}}
{{- $_ := set $all "METRICS_PATH" $plugin.metrics.metricsPath -}}
{{- end -}}
{{- $gates := list -}}
{{- range $name, $on := .Values.featureGates }}{{ $gates = append $gates (printf "%s=%t" $name $on) }}{{ end -}}
{{- $_ := set $all "FEATURE_GATES" (join "," $gates) -}}
{{- toYaml $all -}}
{{- end }}

{{/* The container's variables. One of the user's replaces ours: the API server refuses to apply a name twice. */}}
{{- define "tessera.env" -}}
{{- $theirs := list -}}
{{- range .Values.kubeletPlugin.containers.gpus.env }}{{ $theirs = append $theirs .name }}{{ end -}}
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
{{- range $name, $text := include "tessera.variables" . | fromYaml }}
{{- if and $text (not (has $name $theirs)) }}
- name: {{ $name }}
  value: {{ $text | quote }}
{{- end }}
{{- end }}
{{- with .Values.kubeletPlugin.containers.gpus.env }}
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
