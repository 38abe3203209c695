kubectl auth whoami -o jsonpath='{.status.userInfo.groups}{"\n"}'
kubectl auth whoami --as=somebody --as-group=people
kubectl auth can-i create sandboxes
kubectl auth can-i create sandboxes --as=somebody
kubectl create role keeper --verb=get,list,create --resource=sandboxes.agents.x-k8s.io,configmaps
kubectl create rolebinding keeper --role=keeper --user=somebody
kubectl auth can-i create sandboxes --as=somebody
kubectl auth can-i delete sandboxes/box --as=somebody
kubectl auth can-i get pods --subresource=log --as=somebody
kubectl auth can-i --list --as=somebody | sort
kubectl --as=somebody get configmap none
kubectl --as=somebody get secrets
kubectl --as=somebody delete sandbox box
kubectl --as=somebody create configmap mine --from-literal=a=1
kubectl --as=somebody create role greedy --verb=* --resource=*
kubectl auth reconcile --dry-run=client -f /dev/null
kubectl get clusterrole view -o jsonpath='{.metadata.name}{"\n"}'
