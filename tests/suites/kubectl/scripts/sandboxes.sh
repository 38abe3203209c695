kubectl apply -f box.yaml
kubectl apply -f box.yaml
kubectl get sandboxes
kubectl get sandbox box -o wide
kubectl apply -f pool.yaml
kubectl get sandboxtemplates,swp
kubectl scale swp/pool --replicas=5
kubectl scale swp/pool --replicas=6 --current-replicas=2
kubectl get swp/pool -o jsonpath='{.spec.replicas} {.metadata.generation}{"\n"}'
kubectl delete -f pool.yaml -f box.yaml
kubectl get sandboxes
