kubectl create namespace "$NAMESPACE-b"
kubectl create configmap settings --from-literal=a=1 --from-literal=b='two words'
kubectl create secret generic key --from-literal=password=hidden
kubectl create secret tls pair --cert=none --key=none
kubectl create secret docker-registry pull --docker-server=example.com --docker-username=me --docker-password=hidden
kubectl create serviceaccount robot
kubectl create token robot --duration=10m | tr -d '\n' | tr -s 'A-Za-z0-9_-' x; echo
kubectl create role reader --verb=get,list --resource=pods,sandboxes.agents.x-k8s.io
kubectl create rolebinding reader --role=reader --serviceaccount="$NAMESPACE:robot"
kubectl create service clusterip web --tcp=80:8080
kubectl create service externalname other --external-name=example.com
kubectl create -f box.yaml
kubectl create -f box.yaml
kubectl create configmap settings
kubectl get configmap/settings secret/key secret/pull serviceaccount/robot role/reader rolebinding/reader
kubectl get services -o wide
kubectl get role reader -o jsonpath='{.rules}{"\n"}'
kubectl get secret key -o jsonpath='{.data.password} {.type}{"\n"}'
kubectl get configmap settings -o jsonpath='{.data}{"\n"}'
kubectl delete namespace "$NAMESPACE-b"
