// Program go-sdk does with the unmodified Go SDK of kubernetes-sigs/agent-sandbox what its users do, over one kind of
// connection:
//
//	go-sdk MODE POOL NAMESPACE
//	go-sdk kubectl-ai IMAGE NAMESPACE
//
// KUBECONFIG says where the API server is. ROUTER and TOKEN say where the router is, and who we are to it, where the SDK does
// not find out by itself; GATEWAY is a Gateway in the namespace. What was called is printed at the end, so that whoever started
// it can see that nothing was left out.
package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"sigs.k8s.io/agent-sandbox/clients/go/sandbox"
)

// What one run is about.
type round struct {
	mode, pool, namespace string
	helper                *sandbox.K8sHelper
}

func main() {
	if len(os.Args) > 1 && os.Args[1] == "public" {
		fmt.Print(lines(public()))
		return
	}
	if len(os.Args) > 1 && os.Args[1] == "gateway-itself" {
		must(gateway(os.Args[2], os.Getenv("ROUTER"), os.Getenv("TOKEN")))
		return
	}
	within, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	helper, err := sandbox.NewK8sHelper(nil, logr.Discard())
	must(err)
	if os.Args[1] == "kubectl-ai" {
		must(executor{helper, "kubectl-ai", os.Args[3], os.Args[2]}.session(within))
		return
	}
	it := round{os.Args[1], os.Args[2], os.Args[3], helper}
	if it.mode == "abandoned" {
		must(it.abandoned(within))
		return
	}
	must(it.use(within))
	fmt.Print(lines(names(calls)))
}

// How the SDK gets to the router.
func (it round) options() sandbox.Options {
	options := sandbox.Options{WarmPoolName: it.pool, Namespace: it.namespace, K8sHelper: it.helper, Quiet: true}
	switch it.mode {
	case "direct", "abandoned":
		options.APIURL, options.HTTPTransport = os.Getenv("ROUTER"), bearer(os.Getenv("TOKEN"))
	case "gateway":
		options.GatewayName, options.GatewayNamespace = os.Getenv("GATEWAY"), it.namespace
	case "tunnel":
	default:
		must(fmt.Errorf("no connection is called %s", it.mode))
	}
	return options
}

// Shows a token with every request: what the SDK has a transport of one's own for.
type bearer string

func (token bearer) RoundTrip(request *http.Request) (*http.Response, error) {
	request = request.Clone(request.Context())
	request.Header.Set("Authorization", "Bearer "+string(token))
	return http.DefaultTransport.RoundTrip(request)
}

// A program that is told to end, and has left the rest to the SDK.
func (it round) abandoned(ctx context.Context) error {
	client, err := sandbox.NewClient(ctx, it.options())
	if err != nil {
		return err
	}
	box, err := client.CreateSandbox(ctx, it.pool, it.namespace)
	if err != nil {
		return err
	}
	client.EnableAutoCleanup()
	fmt.Println(box.ClaimName())
	if err := syscall.Kill(os.Getpid(), syscall.SIGTERM); err != nil {
		return err
	}
	<-ctx.Done()
	return fmt.Errorf("nobody ended it")
}

// Whoever started us ends us.
func untilTold() context.Context {
	told, _ := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	return told
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
