sed 's/image: debian/imaje: debian/' box.yaml > typo.yaml
kubectl apply -f typo.yaml
kubectl apply -f typo.yaml --validate=warn
kubectl apply -f typo.yaml --validate=ignore
kubectl create -f typo.yaml --validate=strict --dry-run=server
sed 's/name: main/name: [1]/' box.yaml > type.yaml
kubectl apply -f type.yaml
kubectl patch sandbox box --type=merge --patch='{"spec":{"operatingMode":"Sleeping"}}'
kubectl run web --image=nginx --overrides='{"spec":{"restartPolicy":"Sometimes","containers":[]}}'
kubectl create configmap Upper
kubectl create service clusterip web --tcp=0
kubectl create -f - < /dev/null
printf 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: twice}\ndata: {a: b, a: c}\n' > twice.yaml
kubectl apply -f twice.yaml
printf 'apiVersion: none.example/v1\nkind: None\nmetadata: {name: none}\n' > none.yaml
kubectl apply -f none.yaml --validate=ignore
kubectl apply -f none.yaml
kubectl create -f none.yaml --validate=strict
