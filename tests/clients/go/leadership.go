package main

import (
	"context"
	"fmt"
	"time"

	core "k8s.io/api/core/v1"
	policy "k8s.io/api/policy/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// election has two candidates for one Lease: the second leads once the first has been silent for long enough. It is told a namespace.
func election(ctx context.Context, config *rest.Config, arguments []string) error {
	for _, candidate := range []string{"one", "two"} {
		led, err := campaign(ctx, config, arguments[0], candidate)
		if err != nil {
			return err
		}
		fmt.Println("led", led)
	}
	return nil
}

func campaign(ctx context.Context, config *rest.Config, namespace, candidate string) (string, error) {
	lock, err := resourcelock.NewFromKubeconfig(resourcelock.LeasesResourceLock, namespace, "leader",
		resourcelock.ResourceLockConfig{Identity: candidate}, config, 10*time.Second)
	if err != nil {
		return "", err
	}
	within, resign := context.WithCancel(ctx)
	defer resign()
	leads := make(chan struct{})
	leaderelection.RunOrDie(within, leaderelection.LeaderElectionConfig{
		Lock: lock, LeaseDuration: 2 * time.Second, RenewDeadline: time.Second, RetryPeriod: 200 * time.Millisecond,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(context.Context) { close(leads); resign() },
			OnStoppedLeading: func() {},
		},
	})
	<-leads
	lease, _, err := lock.Get(ctx)
	if err != nil {
		return "", err
	}
	return fmt.Sprint(lease.HolderIdentity, " after ", lease.LeaderTransitions), nil
}

// eviction asks for a Pod to leave. It is told a namespace.
func eviction(ctx context.Context, config *rest.Config, arguments []string) error {
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	container := core.Container{Name: "main", Image: "image"}
	pod := &core.Pod{ObjectMeta: meta.ObjectMeta{Name: "leaving"}, Spec: core.PodSpec{Containers: []core.Container{container}}}
	api := clients.CoreV1().Pods(arguments[0])
	if _, err := api.Create(ctx, pod, meta.CreateOptions{}); err != nil {
		return err
	}
	now := int64(0)
	wish := &policy.Eviction{ObjectMeta: meta.ObjectMeta{Name: "leaving", Namespace: arguments[0]}, DeleteOptions: &meta.DeleteOptions{GracePeriodSeconds: &now}}
	if err := clients.PolicyV1().Evictions(arguments[0]).Evict(ctx, wish); err != nil {
		return err
	}
	_, err = api.Get(ctx, "leaving", meta.GetOptions{})
	fmt.Println("evicted:", err)
	return nil
}
