{{/* What selects the Pods. It is upstream's, so that a Deployment of theirs can be taken over: selectors cannot change. */}}
{{- define "agent-sandbox.selector" -}}
app: agent-sandbox-controller
{{- end }}

{{- define "agent-sandbox.labels" -}}
{{ include "agent-sandbox.selector" . }}
{{ include "agent-sandbox.release" . }}
{{- end }}

{{/* The NetworkPolicy that templates have by default lets in what has this label. */}}
{{- define "agent-sandbox.router-selector" -}}
app: sandbox-router
{{- end }}

{{- define "agent-sandbox.router-labels" -}}
{{ include "agent-sandbox.router-selector" . }}
{{ include "agent-sandbox.release" . }}
{{- end }}

{{/* Whose an object is that does not belong to the Deployment. */}}
{{- define "agent-sandbox.release" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{- define "agent-sandbox.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{- define "agent-sandbox.subjects" -}}
- kind: ServiceAccount
  name: agent-sandbox-controller
  namespace: {{ .Values.namespace.name }}
{{- end }}

{{/* Every flag that is set. Numbers go through JSON: a plain 1000000 would become 1e+06. */}}
{{- define "agent-sandbox.arguments" -}}
{{- range $name, $value := omit .Values.controller "extraArgs" "extensions" }}
{{- if not (kindIs "invalid" $value) }}
- --{{ kebabcase $name }}={{ kindIs "string" $value | ternary $value (toJson $value) }}
{{- end }}
{{- end }}
{{- if .Values.controller.extensions }}
- --extensions
{{- end }}
- --runtime-image={{ .Values.runtime.image | default "self" }}
- --runtime-key-secret=sandbox-router-key
{{- if ne .Values.namespace.name "agent-sandbox-system" }}
- --webhook-namespace={{ .Values.namespace.name }}
{{- end }}
{{- if ne .Values.webhookServiceName "agent-sandbox-webhook-service" }}
- --webhook-service-name={{ .Values.webhookServiceName }}
{{- end }}
{{- with .Values.controller.extraArgs }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* Not empty where the short spellings are wanted, which stand for what the extensions look after. */}}
{{- define "agent-sandbox.documents" -}}
{{- if .Values.documentKinds.enabled }}
{{- if not .Values.controller.extensions }}
{{- fail "documentKinds.enabled stands for claims, templates and pools: it needs controller.extensions=true" }}
{{- end }}true
{{- end }}
{{- end }}
