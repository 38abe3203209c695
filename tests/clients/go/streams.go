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

// streams does what the Go SDK does: it forwards a port and runs commands. It is told a Pod, a port inside it that
// echoes, and its namespace.
func streams(ctx context.Context, config *rest.Config, arguments []string) error {
	pod, port, namespace := arguments[0], arguments[1], arguments[2]
	base := config.Host + "/api/v1/namespaces/" + namespace + "/pods/" + pod
	if err := forward(config, base+"/portforward", port); err != nil {
		return fmt.Errorf("port-forward: %w", err)
	}
	target, err := url.Parse(base + "/exec?stdin=true&stdout=true&stderr=true&command=sh&command=-c&command=" +
		url.QueryEscape("cat; echo problem >&2; exit 7"))
	if err != nil {
		return err
	}
	overSpdy, err := remotecommand.NewSPDYExecutor(config, http.MethodPost, target)
	if err != nil {
		return err
	}
	overWebSocket, err := remotecommand.NewWebSocketExecutor(config, http.MethodGet, target.String())
	if err != nil {
		return err
	}
	return errors.Join(command(ctx, "SPDY", overSpdy), command(ctx, "WebSocket", overWebSocket))
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

func command(ctx context.Context, transport string, executor remotecommand.Executor) error {
	var stdout, stderr bytes.Buffer
	err := executor.StreamWithContext(ctx, remotecommand.StreamOptions{
		Stdin: strings.NewReader("input"), Stdout: &stdout, Stderr: &stderr,
	})
	var exit exec.CodeExitError
	if !errors.As(err, &exit) {
		return fmt.Errorf("no exit code over %s but %w", transport, err)
	}
	fmt.Printf("%s: stdout %q, stderr %q, exit %d\n", transport, stdout.String(), stderr.String(), exit.Code)
	return nil
}
