package main

import (
	"context"
	"fmt"

	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
)

// dynamics does what kubectl-ai does with Sandboxes of the older version, after finding out about them. It is told a
// namespace.
func dynamics(ctx context.Context, config *rest.Config, arguments []string) error {
	found, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return err
	}
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(found))
	mapping, err := mapper.RESTMapping(schema.GroupKind{Group: "agents.x-k8s.io", Kind: "Sandbox"}, "v1alpha1")
	if err != nil {
		return err
	}
	fmt.Println("found", mapping.Resource.Resource, mapping.Scope.Name())
	clients, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	return sandboxes(ctx, clients.Resource(mapping.Resource).Namespace(arguments[0]))
}

func sandboxes(ctx context.Context, api dynamic.ResourceInterface) error {
	container := map[string]any{"name": "main", "image": "image"}
	template := map[string]any{"spec": map[string]any{"containers": []any{container}}}
	object := map[string]any{
		"apiVersion": "agents.x-k8s.io/v1alpha1", "kind": "Sandbox",
		"metadata": map[string]any{"name": "box"},
		"spec":     map[string]any{"podTemplate": template, "replicas": int64(1)},
	}
	made, err := api.Create(ctx, &unstructured.Unstructured{Object: object}, meta.CreateOptions{})
	if err != nil {
		return err
	}
	watch, err := api.Watch(ctx, meta.ListOptions{FieldSelector: "metadata.name=box", ResourceVersion: made.GetResourceVersion()})
	if err != nil {
		return err
	}
	defer watch.Stop()
	patch := []byte(`{"spec":{"replicas":0}}`)
	if _, err := api.Patch(ctx, "box", types.MergePatchType, patch, meta.PatchOptions{}); err != nil {
		return err
	}
	event := <-watch.ResultChan()
	replicas, _, err := unstructured.NestedInt64(event.Object.(*unstructured.Unstructured).Object, "spec", "replicas")
	if err != nil {
		return err
	}
	fmt.Println("saw", event.Type, event.Object.GetObjectKind().GroupVersionKind().Version, "with", replicas)
	return api.Delete(ctx, "box", *meta.NewDeleteOptions(0))
}
