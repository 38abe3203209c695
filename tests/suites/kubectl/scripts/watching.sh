mkfifo seen
kubectl create configmap settings --from-literal=a=1
kubectl get configmap settings --watch --output-watch-events --no-headers > seen & exec 3< seen; read -r first <&3; kubectl label configmap settings tier=test; read -r second <&3; kubectl delete configmap settings; read -r third <&3; kill $!; printf '%s\n' "$first" "$second" "$third"
kubectl apply -f box.yaml
kubectl get sandboxes --watch -o name > seen & exec 3< seen; read -r first <&3; sed 's/name: box/name: second/' box.yaml | kubectl apply -f -; read -r second <&3; kill $!; printf '%s\n' "$first" "$second"
