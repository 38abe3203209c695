kubectl create configmap owner
kubectl create configmap child --from-literal=a=1
uid=$(kubectl get configmap owner -o jsonpath='{.metadata.uid}'); kubectl patch configmap child --type=merge --patch="{\"metadata\":{\"ownerReferences\":[{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"name\":\"owner\",\"uid\":\"$uid\"}]}}"
kubectl delete configmap owner
kubectl wait configmap/child --for=delete --timeout=20s
kubectl create configmap one; kubectl create configmap two; kubectl label configmaps one two tier=test
kubectl delete configmaps --selector=tier=test
kubectl delete configmap one
kubectl delete configmap one --ignore-not-found
kubectl run web --image=nginx
kubectl delete pod web --force --grace-period=0
kubectl get pods
kubectl create namespace "$NAMESPACE-c"
kubectl --namespace "$NAMESPACE-c" apply -f box.yaml
kubectl delete namespace "$NAMESPACE-c" --wait
kubectl get namespace "$NAMESPACE-c"
