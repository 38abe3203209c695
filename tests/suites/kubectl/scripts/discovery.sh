kubectl version | sed 's/+asb.*//' | grep Server
kubectl api-versions
kubectl api-resources --no-headers -o wide | sort
kubectl get --raw /readyz; echo
kubectl cluster-info | head -1 | sed 's/[0-9]*$//'
kubectl get deployments
