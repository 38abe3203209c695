kubectl apply -f box.yaml
kubectl label sandbox box tier=test
kubectl label sandbox box tier=other
kubectl label sandbox box tier=other --overwrite
kubectl label sandbox box tier-
kubectl annotate sandbox box note='what it is for'
kubectl patch sandbox box --type=merge --patch='{"spec":{"operatingMode":"Suspended"}}'
kubectl patch sandbox box --type=json --patch='[{"op":"replace","path":"/spec/podTemplate/spec/containers/0/image","value":"alpine"}]'
kubectl patch sandbox box --type=json --patch='[{"op":"test","path":"/spec/operatingMode","value":"Running"}]'
kubectl patch sandbox box --patch='{"spec":{"operatingMode":"Running"}}'
kubectl patch sandbox box --subresource=status --type=merge --patch='{"status":{"serviceFQDN":"box.here"}}'
kubectl get sandbox box -o jsonpath='{.metadata.generation} {.spec.operatingMode} {.spec.podTemplate.spec.containers[0].image} {.status.serviceFQDN} {.metadata.annotations.note}{"\n"}'
EDITOR='sed -i s/alpine/fedora/' kubectl edit sandbox box
EDITOR=true kubectl edit sandbox box
kubectl get sandbox box -o yaml | sed 's/fedora/arch/' | kubectl replace -f -
kubectl get sandbox box -o yaml | sed 's/resourceVersion: .*/resourceVersion: "1"/' | kubectl replace -f -
kubectl create configmap settings --from-literal=a=1
kubectl patch configmap settings --patch='{"data":{"b":"2"}}'
kubectl run web --image=nginx --port=80 --labels=app=web
kubectl patch pod web --patch='{"spec":{"containers":[{"name":"web","image":"httpd"}]}}'
kubectl patch pod web --patch='{"spec":{"containers":[{"name":"web","command":["true"]}]}}'
kubectl set image pod/web web=caddy
kubectl expose pod web --port=8080 --target-port=80
kubectl get service web -o jsonpath='{.spec.selector} {.spec.ports[0].targetPort}{"\n"}'
kubectl apply -f box.yaml
kubectl get sandbox box -o jsonpath='{.spec.podTemplate.spec.containers[0].image}{"\n"}'
