kubectl apply -f box.yaml
kubectl get sandbox box -o yaml
kubectl get sandbox box -o json
kubectl get sandboxes -o name
kubectl get sandboxes -o jsonpath='{range .items[*]}{.metadata.name} {.spec.podTemplate.spec.containers[0].image}{"\n"}{end}'
kubectl get sandboxes -o custom-columns=NAME:.metadata.name,IMAGE:.spec.podTemplate.spec.containers[*].image
kubectl get sandboxes -o go-template='{{range .items}}{{.kind}}{{"\n"}}{{end}}'
kubectl get sandboxes --show-labels --no-headers
kubectl get sandboxes --field-selector=metadata.name=box --sort-by=.metadata.name
kubectl get sandboxes --field-selector=spec.nothing=1
kubectl get sandboxes --selector='tier in (a,b)'
kubectl get sandbox other
kubectl get nothing
kubectl get sandbox box --output-watch-events --watch-only --request-timeout=1s
