kubectl apply --server-side -f box.yaml
kubectl apply --server-side -f box.yaml --field-manager=other
sed 's/debian/alpine/' box.yaml > changed.yaml
kubectl apply --server-side -f changed.yaml --field-manager=third
kubectl apply --server-side -f changed.yaml --field-manager=third --force-conflicts
kubectl get sandbox box --show-managed-fields -o jsonpath='{range .metadata.managedFields[*]}{.manager} {.operation} {.fieldsV1}{"\n"}{end}'
kubectl diff -f box.yaml | sed '/^[-+]\{3\}/d; /^diff/d'
kubectl diff --server-side -f box.yaml | sed '/^[-+]\{3\}/d; /^diff/d'
kubectl diff -f changed.yaml
kubectl apply --dry-run=server -f box.yaml
kubectl apply --server-side --dry-run=server --force-conflicts -f box.yaml
kubectl get sandbox box -o jsonpath='{.spec.podTemplate.spec.containers[0].image}{"\n"}'
kubectl create configmap settings --from-literal=a=1 --dry-run=server
kubectl get configmap settings
kubectl create configmap settings --from-literal=a=1 --field-manager=me --save-config
kubectl apply view-last-applied configmap/settings
kubectl delete sandbox box --dry-run=server
kubectl delete sandbox box
