// Prints how the kinds that are served look in Go, as far as their JSON depends on it; see README.md.
package main

import (
	"fmt"
	"reflect"
	"sort"
	"strings"

	coordination "k8s.io/api/coordination/v1"
	core "k8s.io/api/core/v1"
	discovery "k8s.io/api/discovery/v1"
	events "k8s.io/api/events/v1"
	networking "k8s.io/api/networking/v1"
	node "k8s.io/api/node/v1"
	rbac "k8s.io/api/rbac/v1"
	storage "k8s.io/api/storage/v1"
)

var kinds = []any{
	core.Namespace{}, core.Pod{}, core.Service{}, core.Endpoints{}, core.PersistentVolumeClaim{},
	core.PersistentVolume{}, core.ConfigMap{}, core.Secret{}, core.ServiceAccount{}, core.Event{}, core.Node{},
	discovery.EndpointSlice{}, events.Event{}, coordination.Lease{}, networking.NetworkPolicy{},
	node.RuntimeClass{}, storage.StorageClass{}, rbac.Role{}, rbac.RoleBinding{}, rbac.ClusterRole{},
	rbac.ClusterRoleBinding{},
}

var lines = map[string]string{}

func main() {
	for _, kind := range kinds {
		visit(reflect.TypeOf(kind))
	}
	names := make([]string, 0, len(lines))
	for name := range lines {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		fmt.Println(name + ":" + lines[name])
	}
}

// name is `core/v1.Pod`.
func name(t reflect.Type) string {
	parts := strings.Split(t.PkgPath(), "/")
	return strings.Join(parts[len(parts)-2:], "/") + "." + t.Name()
}

// isLeaf holds for what has a JSON form of its own.
func isLeaf(t reflect.Type) bool {
	_, marshals := reflect.PointerTo(t).MethodByName("MarshalJSON")
	return t.Kind() != reflect.Struct || marshals
}

func visit(t reflect.Type) {
	if _, known := lines[name(t)]; known {
		return
	}
	lines[name(t)] = ""
	var fields []string
	collect(t, &fields)
	sort.Strings(fields)
	lines[name(t)] = " " + strings.Join(fields, " ")
}

func collect(t reflect.Type, fields *[]string) {
	for i := range t.NumField() {
		field := t.Field(i)
		tag, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		if tag == "" && field.Anonymous {
			if field.Type.Name() != "TypeMeta" {
				collect(field.Type, fields)
			}
			continue
		}
		if text := describe(tag, strings.Contains(options, "omitempty"), strings.Contains(options, "omitzero"), field.Type); text != "" {
			*fields = append(*fields, text)
		}
	}
}

// describe says nothing of a field whose JSON is always what it was.
func describe(tag string, omits, omitsZero bool, t reflect.Type) string {
	mark, many, inner := "", "", t
	switch t.Kind() {
	case reflect.Pointer:
		inner = t.Elem()
		if omits {
			mark = "?"
		}
	case reflect.Slice, reflect.Map:
		inner = t.Elem()
		if omits {
			mark = "-"
		}
		many = map[reflect.Kind]string{reflect.Slice: "[]", reflect.Map: "{}"}[t.Kind()]
	case reflect.Struct:
		if omitsZero {
			mark = "?"
		}
	default:
		if omits {
			mark = "-"
		}
	}
	if isLeaf(inner) {
		if mark == "" {
			return ""
		}
		return tag + mark
	}
	visit(inner)
	return tag + mark + many + "=" + name(inner)
}
