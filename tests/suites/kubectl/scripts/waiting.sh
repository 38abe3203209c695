kubectl apply -f box.yaml
kubectl wait sandbox/box --for=condition=Ready --timeout=1s
kubectl patch sandbox box --subresource=status --type=merge --patch='{"status":{"conditions":[{"type":"Ready","status":"True","reason":"PodReady","message":"","lastTransitionTime":"2026-01-01T00:00:00Z"}]}}'
kubectl wait sandbox/box --for=condition=Ready --timeout=20s
kubectl wait sandbox/box --for=jsonpath='{.spec.operatingMode}'=Running --timeout=20s
kubectl patch sandbox box --type=merge --patch='{"metadata":{"finalizers":["example.com/hold"]}}'
kubectl delete sandbox box --wait=false
kubectl wait sandbox/box --for=delete --timeout=1s
kubectl get sandbox box -o jsonpath='{.metadata.finalizers}{"\n"}'
kubectl wait sandbox/box --for=delete --timeout=20s >/dev/null & kubectl patch sandbox box --type=json --patch='[{"op":"remove","path":"/metadata/finalizers"}]' >/dev/null; wait $!; echo "exit $?"
kubectl wait sandbox/none --for=condition=Ready --timeout=1s
kubectl wait configmap/late --for=create --timeout=20s & kubectl create configmap late > /dev/null; wait
