{{/* Names and labels. They depend on the release and on values, never on what is in the cluster. */}}

{{- define "tessera.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end }}

{{/* Short enough that every suffix below still makes a label value. */}}
{{- define "tessera.fullname" -}}
{{- $name := include "tessera.name" . -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 45 | trimSuffix "-" -}}
{{- else if contains $name .Release.Name -}}
{{- .Release.Name | trunc 45 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 45 | trimSuffix "-" -}}
{{- end -}}
{{- end }}

{{- define "tessera.namespace" -}}
{{- default .Release.Namespace .Values.namespaceOverride -}}
{{- end }}

{{/* The Go driver's chart appends the same suffix to the name it is given. */}}
{{- define "tessera.serviceAccountName" -}}
{{- if .Values.serviceAccount.name -}}
{{- printf "%s-kubeletplugin" .Values.serviceAccount.name -}}
{{- else -}}
{{- printf "%s-kubelet-plugin" (include "tessera.fullname" .) -}}
{{- end -}}
{{- end }}

{{- define "tessera.image" -}}
{{- $image := .Values.image -}}
{{- if $image.digest -}}
{{- printf "%s@%s" $image.repository $image.digest -}}
{{- else -}}
{{- printf "%s:%s" $image.repository (default .Chart.AppVersion $image.tag) -}}
{{- end -}}
{{- end }}

{{- define "tessera.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
app.kubernetes.io/name: {{ include "tessera.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{- define "tessera.selectorLabels" -}}
{{- if .Values.selectorLabelsOverride -}}
{{- toYaml .Values.selectorLabelsOverride -}}
{{- else -}}
app.kubernetes.io/name: {{ include "tessera.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: kubelet-plugin
{{- end -}}
{{- end }}

{{/*
A pod's labels. The chart's version is not among them, so that only what changes the pod replaces it. The selector's
win, because the DaemonSet must select its own pods.
*/}}
{{- define "tessera.podLabels" -}}
{{- $own := dict
  "app.kubernetes.io/name" (include "tessera.name" .)
  "app.kubernetes.io/instance" .Release.Name
  "app.kubernetes.io/component" "kubelet-plugin"
  "app.kubernetes.io/version" .Chart.AppVersion -}}
{{- $selected := include "tessera.selectorLabels" . | fromYaml -}}
{{- mergeOverwrite $own .Values.kubeletPlugin.podLabels $selected | toYaml -}}
{{- end }}

{{- define "tessera.priorityClassName" -}}
{{- if .Values.priorityClass.create -}}
{{- include "tessera.fullname" . -}}
{{- else -}}
{{- .Values.kubeletPlugin.priorityClassName -}}
{{- end -}}
{{- end }}
