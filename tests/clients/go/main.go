// Program go-client does with client-go what programs on it do, one subject at a time: the first argument names it, the
// rest is for it. KUBECONFIG says where the server is. What happened is printed, and compared by whoever called.
package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

var subjects = map[string]func(context.Context, *rest.Config, []string) error{
	"apply":    apply,
	"dynamic":  dynamics,
	"election": election,
	"eviction": eviction,
	"informer": informer,
	"streams":  streams,
	"typed":    typed,
}

func main() {
	subject, found := subjects[os.Args[1]]
	if !found {
		fail(fmt.Errorf("nothing is known about %s", os.Args[1]))
	}
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		fail(err)
	}
	within, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := subject(within, config, os.Args[2:]); err != nil {
		fail(fmt.Errorf("%s: %w", os.Args[1], err))
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}
