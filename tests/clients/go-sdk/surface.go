package main

import (
	"maps"
	"reflect"
	"runtime"
	"slices"
	"strings"

	"sigs.k8s.io/agent-sandbox/clients/go/sandbox"
)

// The types of the SDK that have something to call; what their methods answer with is looked through as well.
var roots = []reflect.Type{
	reflect.TypeFor[*sandbox.Client](),
	reflect.TypeFor[*sandbox.Sandbox](),
	reflect.TypeFor[*sandbox.DirectStrategy](),
	reflect.TypeFor[*sandbox.HTTPError](),
}

var calls = map[string]bool{}

// The function as it is, noted by the name that the linker knows it by.
func called[F any](function F) F {
	name := runtime.FuncForPC(reflect.ValueOf(function).Pointer()).Name()
	name = name[strings.LastIndexByte(name, '/')+1:]
	name = strings.TrimSuffix(strings.TrimPrefix(name, "sandbox."), "-fm")
	calls[name] = true
	return function
}

// Every exported method that can be reached, such as (*Sandbox).Run.
func public() []string {
	found, seen := map[string]bool{}, map[reflect.Type]bool{}
	for queue := slices.Clone(roots); len(queue) > 0; queue = queue[1:] {
		kind := queue[0]
		if seen[kind] {
			continue
		}
		seen[kind] = true
		for method := range kind.NumMethod() {
			found["(*"+kind.Elem().Name()+")."+kind.Method(method).Name] = true
			queue = append(queue, answers(kind.Method(method).Type)...)
		}
	}
	return names(found)
}

// The types of the SDK among what a method answers with.
func answers(method reflect.Type) []reflect.Type {
	var kinds []reflect.Type
	for result := range method.NumOut() {
		kind := method.Out(result)
		if kind.Kind() == reflect.Pointer && kind.Elem().PkgPath() == roots[0].Elem().PkgPath() {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}

func names(set map[string]bool) []string {
	return slices.Sorted(maps.Keys(set))
}

func lines(names []string) string {
	return strings.Join(names, "\n") + "\n"
}
