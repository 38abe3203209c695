sed -i "s/PLACE/$NAMESPACE/" crontab.yaml
kubectl apply -f crontab.yaml
kubectl wait --for=condition=established --timeout=20s crd "crontabs.$NAMESPACE.example.com"
printf "apiVersion: $NAMESPACE.example.com/v1\nkind: CronTab\nmetadata: {name: nightly}\nspec: {cronSpec: '0 0 * * *'}\n" > nightly.yaml
kubectl apply -f nightly.yaml
kubectl get crontabs
kubectl get ct nightly -o jsonpath='{.spec}{"\n"}'
kubectl explain crontab.spec
sed 's/cronSpec/cronSpek/; s/nightly/typo/' nightly.yaml > typo.yaml
kubectl apply -f typo.yaml
kubectl api-resources --api-group="$NAMESPACE.example.com"
kubectl delete -f crontab.yaml
