package main

import (
	"context"
	"fmt"

	core "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/retry"
)

// typed writes and reads with the generated clients, whose bodies are protobuf where the kind has it. It is told a
// namespace.
func typed(ctx context.Context, config *rest.Config, arguments []string) error {
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	for _, step := range []func(context.Context, kubernetes.Interface, string) error{maps, pods, services, collisions} {
		if err := step(ctx, clients, arguments[0]); err != nil {
			return err
		}
	}
	return nil
}

func maps(ctx context.Context, clients kubernetes.Interface, namespace string) error {
	api := clients.CoreV1().ConfigMaps(namespace)
	watch, err := api.Watch(ctx, meta.ListOptions{LabelSelector: "tier=test"})
	if err != nil {
		return err
	}
	defer watch.Stop()
	labels := map[string]string{"tier": "test"}
	settings := &core.ConfigMap{ObjectMeta: meta.ObjectMeta{Name: "settings", Labels: labels}, Data: map[string]string{"a": "1"}}
	made, err := api.Create(ctx, settings, meta.CreateOptions{})
	if err != nil {
		return err
	}
	made.Data["b"], made.BinaryData = "2", map[string][]byte{"raw": {0, 1, 2}}
	if _, err := api.Update(ctx, made, meta.UpdateOptions{}); err != nil {
		return err
	}
	listed, err := api.List(ctx, meta.ListOptions{LabelSelector: "tier in (test)"})
	if err != nil {
		return err
	}
	fmt.Println("listed", len(listed.Items), listed.Items[0].Data, listed.Items[0].BinaryData)
	if err := api.Delete(ctx, "settings", meta.DeleteOptions{Preconditions: &meta.Preconditions{UID: &made.UID}}); err != nil {
		return err
	}
	for range 3 {
		event := <-watch.ResultChan()
		fmt.Println("saw", event.Type, event.Object.(*core.ConfigMap).Name)
	}
	return nil
}

func pods(ctx context.Context, clients kubernetes.Interface, namespace string) error {
	api := clients.CoreV1().Pods(namespace)
	limits := core.ResourceList{core.ResourceCPU: resource.MustParse("500m"), core.ResourceMemory: resource.MustParse("1Gi")}
	probe := &core.Probe{ProbeHandler: core.ProbeHandler{HTTPGet: &core.HTTPGetAction{Port: intstr.FromString("web")}}}
	container := core.Container{
		Name: "main", Image: "image", Resources: core.ResourceRequirements{Limits: limits}, ReadinessProbe: probe,
		Ports: []core.ContainerPort{{Name: "web", ContainerPort: 80}},
	}
	pod := &core.Pod{ObjectMeta: meta.ObjectMeta{GenerateName: "pod-"}, Spec: core.PodSpec{Containers: []core.Container{container}}}
	made, err := api.Create(ctx, pod, meta.CreateOptions{})
	if err != nil {
		return err
	}
	made.Status.Phase = core.PodRunning
	if _, err := api.UpdateStatus(ctx, made, meta.UpdateOptions{}); err != nil {
		return err
	}
	patch := []byte(`{"spec":{"containers":[{"name":"main","image":"other"}]}}`)
	if made, err = api.Patch(ctx, made.Name, types.StrategicMergePatchType, patch, meta.PatchOptions{}); err != nil {
		return err
	}
	first := made.Spec.Containers[0]
	fmt.Println("pod", made.Status.Phase, first.Image, first.Resources.Limits.Memory(), first.ReadinessProbe.HTTPGet.Port.String())
	return api.Delete(ctx, made.Name, *meta.NewDeleteOptions(0))
}

func services(ctx context.Context, clients kubernetes.Interface, namespace string) error {
	port := core.ServicePort{Port: 80, TargetPort: intstr.FromInt32(8080)}
	service := &core.Service{ObjectMeta: meta.ObjectMeta{Name: "front"}, Spec: core.ServiceSpec{Ports: []core.ServicePort{port}}}
	made, err := clients.CoreV1().Services(namespace).Create(ctx, service, meta.CreateOptions{})
	if err != nil {
		return err
	}
	fmt.Println("service", made.Spec.Type, made.Spec.ClusterIP != "", made.Spec.Ports[0].TargetPort.String())
	return nil
}

// collisions meets the errors that programs tell apart.
func collisions(ctx context.Context, clients kubernetes.Interface, namespace string) error {
	api := clients.CoreV1().Secrets(namespace)
	secret := &core.Secret{ObjectMeta: meta.ObjectMeta{Name: "key"}, StringData: map[string]string{"a": "1"}}
	made, err := api.Create(ctx, secret, meta.CreateOptions{})
	if err != nil {
		return err
	}
	_, err = api.Create(ctx, secret, meta.CreateOptions{})
	fmt.Println("exists", errors.IsAlreadyExists(err), string(made.Data["a"]))
	stale := made.DeepCopy()
	err = retry.RetryOnConflict(retry.DefaultRetry, func() error {
		made.Labels = map[string]string{"tried": "once"}
		made, err = api.Update(ctx, made, meta.UpdateOptions{})
		return err
	})
	if err != nil {
		return err
	}
	_, err = api.Update(ctx, stale, meta.UpdateOptions{})
	fmt.Println("conflict", errors.IsConflict(err))
	_, err = api.Get(ctx, "other", meta.GetOptions{})
	fmt.Println("missing", errors.IsNotFound(err))
	return nil
}
