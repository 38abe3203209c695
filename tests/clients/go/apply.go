package main

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/errors"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	core "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// apply has two managers want the same field. It is told a namespace.
func apply(ctx context.Context, config *rest.Config, arguments []string) error {
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	api := clients.CoreV1().ConfigMaps(arguments[0])
	want := func(value string) *core.ConfigMapApplyConfiguration {
		return core.ConfigMap("shared", arguments[0]).WithData(map[string]string{"a": value})
	}
	made, err := api.Apply(ctx, want("1"), meta.ApplyOptions{FieldManager: "one"})
	if err != nil {
		return err
	}
	_, err = api.Apply(ctx, want("2"), meta.ApplyOptions{FieldManager: "two"})
	fmt.Println("conflict", errors.IsConflict(err), err)
	forced, err := api.Apply(ctx, want("2"), meta.ApplyOptions{FieldManager: "two", Force: true})
	if err != nil {
		return err
	}
	extracted, err := core.ExtractConfigMap(forced, "two")
	if err != nil {
		return err
	}
	again, err := core.ExtractConfigMap(forced, "one")
	if err != nil {
		return err
	}
	fmt.Println("was", made.Data, "two has", extracted.Data, "one has", again.Data)
	return nil
}
