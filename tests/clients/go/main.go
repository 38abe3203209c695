// Program go-client does with client-go what the Go SDK does: it forwards a port and runs commands, over SPDY.
// It is told the server's address, the name of a Pod in the default namespace and a port inside it.
package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/tools/remotecommand"
	"k8s.io/client-go/transport/spdy"
	"k8s.io/client-go/util/exec"
)

func main() {
	server, pod, port := os.Args[1], os.Args[2], os.Args[3]
	config := &rest.Config{Host: server}
	if err := run(config, pod, port); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(config *rest.Config, pod, port string) error {
	base := config.Host + "/api/v1/namespaces/default/pods/" + pod
	if err := forward(config, base+"/portforward", port); err != nil {
		return fmt.Errorf("port-forward: %w", err)
	}
	if err := command(config, base+"/exec"); err != nil {
		return fmt.Errorf("exec: %w", err)
	}
	return nil
}

// forward sends a megabyte through each of three connections at once and reads it back.
func forward(config *rest.Config, address, port string) error {
	target, err := url.Parse(address)
	if err != nil {
		return err
	}
	transport, upgrader, err := spdy.RoundTripperFor(config)
	if err != nil {
		return err
	}
	dialer := spdy.NewDialer(upgrader, &http.Client{Transport: transport}, http.MethodPost, target)
	stop, ready, failed := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	defer close(stop)
	forwarder, err := portforward.NewOnAddresses(
		dialer, []string{"127.0.0.1"}, []string{"0:" + port}, stop, ready, io.Discard, os.Stderr)
	if err != nil {
		return err
	}
	go func() { failed <- forwarder.ForwardPorts() }()
	select {
	case err := <-failed:
		return err
	case <-ready:
	}
	ports, err := forwarder.GetPorts()
	if err != nil {
		return err
	}
	results := make(chan error)
	for range 3 {
		go func() { results <- echo(ports[0].Local) }()
	}
	return errors.Join(<-results, <-results, <-results)
}

func echo(port uint16) error {
	connection, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return err
	}
	defer connection.Close()
	sent := bytes.Repeat([]byte("0123456789abcdef"), 1<<16)
	go func() {
		connection.Write(sent)
		connection.(*net.TCPConn).CloseWrite()
	}()
	received := make([]byte, len(sent))
	if _, err := io.ReadFull(connection, received); err != nil {
		return err
	}
	if !bytes.Equal(sent, received) {
		return errors.New("other bytes came back")
	}
	fmt.Println("echoed", len(received))
	return nil
}

func command(config *rest.Config, address string) error {
	target, err := url.Parse(address + "?stdin=true&stdout=true&stderr=true&command=sh&command=-c&command=" +
		url.QueryEscape("cat; echo problem >&2; exit 7"))
	if err != nil {
		return err
	}
	executor, err := remotecommand.NewSPDYExecutor(config, http.MethodPost, target)
	if err != nil {
		return err
	}
	var stdout, stderr bytes.Buffer
	err = executor.StreamWithContext(context.Background(), remotecommand.StreamOptions{
		Stdin: strings.NewReader("input"), Stdout: &stdout, Stderr: &stderr,
	})
	var exit exec.CodeExitError
	if !errors.As(err, &exit) {
		return fmt.Errorf("no exit code but %w", err)
	}
	fmt.Printf("stdout %q, stderr %q, exit %d\n", stdout.String(), stderr.String(), exit.Code)
	return nil
}
