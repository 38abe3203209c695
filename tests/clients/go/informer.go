package main

import (
	"context"
	"fmt"
	"time"

	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

// informer holds a copy of a namespace's ConfigMaps, which it is given as a stream that begins with what there is: one
// is there before, one comes, one changes, one goes. It is told the namespace.
func informer(ctx context.Context, config *rest.Config, arguments []string) error {
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	api := clients.CoreV1().ConfigMaps(arguments[0])
	if _, err := api.Create(ctx, named("first"), meta.CreateOptions{}); err != nil {
		return err
	}
	factory := informers.NewSharedInformerFactoryWithOptions(clients, time.Hour, informers.WithNamespace(arguments[0]),
		informers.WithTweakListOptions(func(options *meta.ListOptions) { options.LabelSelector = "tier=test" }))
	seen := make(chan string)
	name := func(object any) string { return object.(*core.ConfigMap).Name }
	watched := factory.Core().V1().ConfigMaps().Informer()
	if _, err := watched.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { seen <- "added " + name(object) },
		UpdateFunc: func(_, object any) { seen <- "updated " + name(object) },
		DeleteFunc: func(object any) { seen <- "deleted " + name(object) },
	}); err != nil {
		return err
	}
	factory.Start(ctx.Done())
	fmt.Println(<-seen)
	fmt.Println("synced", cache.WaitForCacheSync(ctx.Done(), watched.HasSynced))
	second, err := api.Create(ctx, named("second"), meta.CreateOptions{})
	if err != nil {
		return err
	}
	fmt.Println(<-seen)
	second.Data = map[string]string{"a": "1"}
	if _, err := api.Update(ctx, second, meta.UpdateOptions{}); err != nil {
		return err
	}
	fmt.Println(<-seen)
	if err := api.Delete(ctx, "first", meta.DeleteOptions{}); err != nil {
		return err
	}
	fmt.Println(<-seen)
	return nil
}

func named(name string) *core.ConfigMap {
	return &core.ConfigMap{ObjectMeta: meta.ObjectMeta{Name: name, Labels: map[string]string{"tier": "test"}}}
}
