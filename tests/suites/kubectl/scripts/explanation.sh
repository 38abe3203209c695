kubectl explain sandbox | head -9
kubectl explain sandbox.spec --recursive | head -40
kubectl explain sandboxwarmpool.spec.replicas
kubectl explain sandbox.spec --api-version=agents.x-k8s.io/v1alpha1 | head -12
kubectl explain pod.spec.containers.image
kubectl explain configmap --recursive
kubectl explain sandbox.nothing
kubectl explain configmap.data --output=plaintext-openapiv2
kubectl explain sandboxwarmpool --output=plaintext-openapiv2 --recursive
