kubectl apply -f older-box.yaml
kubectl get sandboxes
kubectl get sandboxes.v1alpha1.agents.x-k8s.io older -o yaml
kubectl get sandboxes.v1beta1.agents.x-k8s.io older -o yaml
kubectl patch sandboxes.v1alpha1.agents.x-k8s.io older --type=merge --patch='{"spec":{"replicas":1}}'
kubectl get sandbox older -o jsonpath='{.spec.operatingMode}{"\n"}'
kubectl scale sandboxes.v1alpha1.agents.x-k8s.io older --replicas=0
kubectl get sandbox older -o jsonpath='{.spec.operatingMode}{"\n"}'
kubectl delete -f older-box.yaml
