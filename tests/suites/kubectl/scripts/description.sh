kubectl apply -f box.yaml
kubectl describe sandbox box
kubectl run web --image=nginx --port=80
kubectl describe pod web | sed '/^Conditions/,/^  PodScheduled/d; /^Events/,$d'
kubectl create secret generic key --from-literal=password=hidden
kubectl describe secret key
kubectl describe serviceaccount default
printf 'apiVersion: v1\nkind: Event\nmetadata: {name: box.1}\ninvolvedObject: {apiVersion: agents.x-k8s.io/v1beta1, kind: Sandbox, name: box}\nreason: Made\nmessage: It was made\ntype: Normal\ncount: 1\nsource: {component: me}\n' > event.yaml
sed "s/name: box}/name: box, namespace: $NAMESPACE}/" event.yaml | kubectl create -f -
kubectl events --for=sandbox/box
kubectl get events --field-selector=involvedObject.kind=Sandbox
