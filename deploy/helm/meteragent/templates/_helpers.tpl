{{- define "meteragent.labels" -}}
{{ include "meteragent.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | quote }}
{{- end }}

{{- define "meteragent.selector" -}}
app.kubernetes.io/name: meteragent
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "meteragent.name" -}}
{{ printf "%s-meteragent" .Release.Name | trunc 52 | trimSuffix "-" }}
{{- end }}

{{- define "meteragent.image" -}}
{{- with .Values.image -}}
{{ .repository }}{{ if .digest }}@{{ .digest }}{{ else }}:{{ default $.Chart.AppVersion .tag }}{{ end }}
{{- end -}}
{{- end }}

{{- /* A value as TOML writes it: JSON, but for tables. Helm's own toToml makes 5000 a float. */ -}}
{{- define "meteragent.value" -}}
{{- $value := .value -}}
{{- if kindIs "map" $value -}}
{ {{ range $i, $key := keys $value | sortAlpha }}{{ if $i }}, {{ end }}{{ $key }} = {{ include "meteragent.value" (dict "value" (get $value $key)) }}{{ end }} }
{{- else if kindIs "slice" $value -}}
[{{ range $i, $one := $value }}{{ if $i }}, {{ end }}{{ include "meteragent.value" (dict "value" $one) }}{{ end }}]
{{- else -}}
{{ toJson $value }}
{{- end -}}
{{- end }}

{{- define "meteragent.toml" -}}
{{- range $name := keys .Values.config | sortAlpha }}
{{- range $table := (kindIs "slice" (get $.Values.config $name) | ternary (get $.Values.config $name) (list (get $.Values.config $name))) }}
{{ if eq $name "policy" }}[[policy]]{{ else }}[{{ $name }}]{{ end }}
{{- range $key := keys $table | sortAlpha }}
{{ $key }} = {{ include "meteragent.value" (dict "value" (get $table $key)) }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
