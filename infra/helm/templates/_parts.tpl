{{- /* What both kinds of processes have in common. */ -}}

{{- define "dataagent.labels" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "dataagent.secret" -}}
{{- if .Values.existingSecret -}}
{{ .Values.existingSecret }}
{{- else if .Values.secret -}}
{{ .Release.Name }}
{{- else -}}
{{ fail "Set existingSecret, or secret.DATAAGENT_DATABASE_URL and the others: infra/helm/values.yaml says which." }}
{{- end -}}
{{- end }}

{{- define "dataagent.pod" -}}
metadata:
  labels:
    {{- include "dataagent.labels" .root | nindent 4 }}
    app.kubernetes.io/component: {{ .component }}
  annotations:
    # other settings are other processes
    checksum/settings: {{ printf "%s%s" (toYaml .root.Values.settings) (toYaml .root.Values.secret) | sha256sum }}
    {{- with .root.Values.podAnnotations }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
spec:
  # longer than the 30 seconds an orderly end may take, and the pause before it
  terminationGracePeriodSeconds: 45
  automountServiceAccountToken: false
  securityContext:
    runAsNonRoot: true
    runAsUser: 10001
    runAsGroup: 10001
    fsGroup: 10001
    seccompProfile:
      {{- toYaml .root.Values.seccompProfile | nindent 6 }}
  {{- with .root.Values.imagePullSecrets }}
  imagePullSecrets:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .root.Values.nodeSelector }}
  nodeSelector:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .root.Values.tolerations }}
  tolerations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .root.Values.affinity }}
  affinity:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  containers:
    - name: {{ .component }}
      image: {{ printf "%s:%s" .root.Values.image.repository (.root.Values.image.tag | default .root.Chart.AppVersion) }}
      imagePullPolicy: {{ .root.Values.image.pullPolicy }}
      args: [{{ .command }}]
      envFrom:
        - configMapRef:
            name: {{ .root.Release.Name }}
        - secretRef:
            name: {{ include "dataagent.secret" .root }}
      {{- with .more }}
      {{- . | nindent 6 }}
      {{- end }}
      securityContext:
        readOnlyRootFilesystem: true
        allowPrivilegeEscalation: false
        capabilities:
          drop: [ALL]
      resources:
        {{- toYaml .resources | nindent 8 }}
      volumeMounts:
        - {name: data, mountPath: /data}
        - {name: tmp, mountPath: /tmp}
  volumes:
    - name: data
      persistentVolumeClaim:
        claimName: {{ .root.Values.data.existingClaim | default (printf "%s-data" .root.Release.Name) }}
    - name: tmp
      emptyDir:
        sizeLimit: 1Gi
{{- end }}

{{- define "dataagent.budget" -}}
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: {{ .root.Release.Name }}-{{ .component }}
  labels:
    {{- include "dataagent.labels" .root | nindent 4 }}
spec:
  maxUnavailable: 1
  selector:
    matchLabels:
      {{- include "dataagent.labels" .root | nindent 6 }}
      app.kubernetes.io/component: {{ .component }}
{{- end }}
