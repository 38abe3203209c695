package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	k8serrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/agent-sandbox/clients/go/sandbox"
)

// Everything that the SDK can do, in the order in which people come to it.
func (it round) use(ctx context.Context) error {
	steps := []struct {
		name string
		does func(context.Context) error
	}{
		{"client", it.client},
		{"handle", it.handle},
		{"traces", it.traces},
		{"no pool", it.noPool},
		{"signals", it.signals},
		{"strategy", it.strategy},
	}
	for _, step := range steps {
		if err := step.does(ctx); err != nil {
			return fmt.Errorf("%s: %w", step.name, err)
		}
	}
	return nil
}

// A client with several sandboxes.
func (it round) client(ctx context.Context) error {
	client, err := called(sandbox.NewClient)(ctx, it.options())
	if err != nil {
		return err
	}
	first, err := called(client.CreateSandbox)(ctx, it.pool, it.namespace)
	if err != nil {
		return fmt.Errorf("create: %w", err)
	}
	if err := errors.Join(it.commands(ctx, first), it.files(ctx, first)); err != nil {
		return err
	}
	second, err := client.CreateSandbox(ctx, it.pool, it.namespace)
	if err != nil {
		return fmt.Errorf("create another: %w", err)
	}
	if err := it.listed(ctx, client, first, second); err != nil {
		return err
	}
	if err := it.attachedAgain(ctx, client, first); err != nil {
		return err
	}
	stop := called(client.EnableAutoCleanup)()
	defer stop()
	claims := []string{first.ClaimName(), second.ClaimName()}
	if err := called(client.DeleteSandbox)(ctx, claims[0], it.namespace); err != nil {
		return fmt.Errorf("delete: %w", err)
	}
	called(client.DeleteAll)(ctx)
	left := client.ListActiveSandboxes()
	return errors.Join(expect("none is left", len(left), 0), it.gone(ctx, claims[0]), it.gone(ctx, claims[1]))
}

func (it round) listed(ctx context.Context, client *sandbox.Client, boxes ...*sandbox.Sandbox) error {
	everyone, err := called(client.ListAllSandboxes)(ctx, it.namespace)
	if err != nil {
		return fmt.Errorf("list: %w", err)
	}
	active := called(client.ListActiveSandboxes)()
	for _, box := range boxes {
		key := sandbox.Key{Namespace: it.namespace, ClaimName: box.ClaimName()}
		err = errors.Join(err, expect("listed", slices.Contains(everyone, box.ClaimName()), true),
			expect("tracked", slices.Contains(active, key), true))
	}
	return errors.Join(err, expect("tracked", len(active), len(boxes)))
}

// By the same client, and by another that knows nothing but the name.
func (it round) attachedAgain(ctx context.Context, client *sandbox.Client, box *sandbox.Sandbox) error {
	same, err := called(client.GetSandbox)(ctx, box.ClaimName(), it.namespace)
	if err != nil {
		return fmt.Errorf("get: %w", err)
	}
	stranger, err := sandbox.NewClient(ctx, it.options())
	if err != nil {
		return err
	}
	other, err := stranger.GetSandbox(ctx, box.ClaimName(), it.namespace)
	if err != nil {
		return fmt.Errorf("get as another: %w", err)
	}
	found, err := other.Exists(ctx, "hello.txt")
	return errors.Join(err, expect("the same again", same == box, true), expect("its file", found, true),
		expect("another's", other.SandboxName(), box.SandboxName()), other.Disconnect(ctx))
}

// One sandbox without a client, through all of its life.
func (it round) handle(ctx context.Context) error {
	box, err := called(sandbox.New)(ctx, it.options())
	if err != nil {
		return err
	}
	if err := errors.Join(expect("ready", box.IsReady(), false), called(box.Open)(ctx)); err != nil {
		return err
	}
	if err := errors.Join(it.identity(box), it.shortcuts(ctx, box), it.crowd(ctx, box)); err != nil {
		return err
	}
	if err := box.Open(ctx); !errors.Is(err, sandbox.ErrAlreadyOpen) {
		return fmt.Errorf("it was opened twice: %w", err)
	}
	if err := called(box.Disconnect)(ctx); err != nil {
		return fmt.Errorf("disconnect: %w", err)
	}
	if _, err := box.Run(ctx, "true"); !errors.Is(err, sandbox.ErrNotReady) {
		return fmt.Errorf("it runs commands without a connection: %w", err)
	}
	if err := box.Open(ctx); err != nil {
		return fmt.Errorf("open again: %w", err)
	}
	found, err := box.Exists(ctx, "short.txt")
	claim := box.ClaimName()
	return errors.Join(err, expect("its file is there again", found, true), called(box.Close)(ctx),
		expect("ready", called(box.IsReady)(), false), it.gone(ctx, claim))
}

func (it round) identity(box *sandbox.Sandbox) error {
	return errors.Join(
		expect("ready", box.IsReady(), true),
		expect("claim", strings.HasPrefix(called(box.ClaimName)(), "sandbox-claim-"), true),
		expect("pod", called(box.PodName)(), called(box.SandboxName)()),
		expect("address", strings.Count(called(box.PodIP)(), "."), 3),
		expect("annotation", called(box.Annotations)()[sandbox.PodNameAnnotation], box.PodName()),
	)
}

func (it round) commands(ctx context.Context, box *sandbox.Sandbox) error {
	commands := called(box.Commands)()
	result, err := called(commands.Run)(ctx, "sh -c 'echo out; echo err >&2; exit 3'", sandbox.WithMaxAttempts(2))
	if err != nil {
		return fmt.Errorf("run: %w", err)
	}
	wanted := sandbox.ExecutionResult{Stdout: "out\n", Stderr: "err\n", ExitCode: 3}
	begin := time.Now()
	_, slow := commands.Run(ctx, "sleep 60", sandbox.WithTimeout(time.Second))
	return errors.Join(expect("run", *result, wanted), expect("time-out", isTimeout(slow), true),
		expect("not much later", time.Since(begin) < 10*time.Second, true))
}

// The client and the router hear the same bell.
func isTimeout(err error) bool {
	var answer *sandbox.HTTPError
	return errors.Is(err, context.DeadlineExceeded) ||
		errors.As(err, &answer) && answer.StatusCode == http.StatusGatewayTimeout
}

func (it round) files(ctx context.Context, box *sandbox.Sandbox) error {
	files := called(box.Files)()
	large := make([]byte, 3<<20)
	if _, err := rand.Read(large); err != nil {
		return err
	}
	for name, content := range map[string][]byte{"hello.txt": []byte("hällo"), "ein „Wort“ 100%.txt": {0, 255}, "large.bin": large} {
		if err := called(files.Write)(ctx, name, content); err != nil {
			return fmt.Errorf("write: %w", err)
		}
		read, err := called(files.Read)(ctx, name)
		if err := errors.Join(err, expect("read "+name, bytes.Equal(read, content), true)); err != nil {
			return err
		}
	}
	entries, err := called(files.List)(ctx, ".")
	has := func(entry sandbox.FileEntry) bool {
		return entry.Name == "large.bin" && entry.Size == 3<<20 && entry.Type == sandbox.FileTypeFile && entry.ModTime > 0
	}
	found, missing := called(files.Exists)(ctx, "hello.txt")
	return errors.Join(err, missing, expect("listed", slices.ContainsFunc(entries, has), true),
		expect("exists", found, true), it.missing(ctx, box))
}

// What is not there.
func (it round) missing(ctx context.Context, box *sandbox.Sandbox) error {
	found, err := box.Exists(ctx, "nothing")
	_, refusal := box.Read(ctx, "nothing")
	var answer *sandbox.HTTPError
	if !errors.As(refusal, &answer) {
		return fmt.Errorf("it read what is not there: %w", refusal)
	}
	return errors.Join(err, expect("exists", found, false), expect("status", answer.StatusCode, http.StatusNotFound),
		expect("words", strings.Contains(called(answer.Error)(), "File not found"), true))
}

// The same without the objects between.
func (it round) shortcuts(ctx context.Context, box *sandbox.Sandbox) error {
	if err := called(box.Write)(ctx, "short.txt", []byte("short")); err != nil {
		return err
	}
	content, reading := called(box.Read)(ctx, "short.txt")
	found, looking := called(box.Exists)(ctx, "short.txt")
	entries, listing := called(box.List)(ctx, ".")
	result, running := called(box.Run)(ctx, "cat short.txt")
	if err := errors.Join(reading, looking, listing, running); err != nil {
		return err
	}
	has := func(entry sandbox.FileEntry) bool { return entry.Name == "short.txt" }
	return errors.Join(expect("read", string(content), "short"), expect("exists", found, true),
		expect("listed", slices.ContainsFunc(entries, has), true), expect("cat", result.Stdout, "short"))
}

// Many at once over one connection.
func (it round) crowd(ctx context.Context, box *sandbox.Sandbox) error {
	failures := make([]error, 16)
	var all sync.WaitGroup
	for number := range failures {
		all.Go(func() {
			result, err := box.Run(ctx, fmt.Sprintf("echo %d", number))
			if err == nil {
				err = expect("its own answer", result.Stdout, fmt.Sprintf("%d\n", number))
			}
			failures[number] = err
		})
	}
	all.Wait()
	return errors.Join(failures...)
}

// The trace of who claims is on the claim.
func (it round) traces(ctx context.Context) error {
	provider, err := called(sandbox.NewTracerProvider)(ctx, "go-sdk")
	if err != nil {
		return err
	}
	options := it.options()
	options.TracerProvider = provider
	box, err := sandbox.New(ctx, options)
	if err != nil {
		return err
	}
	if err := box.Open(ctx); err != nil {
		return err
	}
	claims := it.helper.ExtensionsClient.SandboxClaims(it.namespace)
	claim, err := claims.Get(ctx, box.ClaimName(), metav1.GetOptions{})
	if err != nil {
		return err
	}
	trace := claim.Annotations["opentelemetry.io/trace-context"]
	_, running := box.Run(ctx, "true")
	return errors.Join(running, expect("traced", strings.Contains(trace, "traceparent"), true), box.Close(ctx))
}

// A claim of a pool that is not there fails in time, and nothing of it stays.
func (it round) noPool(ctx context.Context) error {
	options := it.options()
	options.WarmPoolName, options.SandboxReadyTimeout = "nowhere", 2*time.Second
	box, err := sandbox.New(ctx, options)
	if err != nil {
		return err
	}
	if err := box.Open(ctx); !errors.Is(err, sandbox.ErrTimeout) {
		return fmt.Errorf("it got one: %w", err)
	}
	claims, err := it.helper.ExtensionsClient.SandboxClaims(it.namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, claim := range claims.Items {
		if claim.Spec.WarmPoolRef.Name == "nowhere" && claim.DeletionTimestamp == nil {
			return fmt.Errorf("%s stays", claim.Name)
		}
	}
	return nil
}

// A signal takes the sandboxes of a program with it, if it said so.
func (it round) signals(ctx context.Context) error {
	if it.mode != "direct" {
		return nil
	}
	itself, err := os.Executable()
	if err != nil {
		return err
	}
	child := exec.CommandContext(ctx, itself, "abandoned", it.pool, it.namespace)
	child.Stderr = os.Stderr
	said, err := child.Output()
	var ended *exec.ExitError
	if !errors.As(err, &ended) {
		return fmt.Errorf("it was not ended by the signal: %w", err)
	}
	status, _ := ended.Sys().(syscall.WaitStatus)
	return errors.Join(expect("signal", status.Signal(), syscall.SIGTERM), it.gone(ctx, strings.TrimSpace(string(said))))
}

// How the SDK finds a router whose address is known.
func (it round) strategy(ctx context.Context) error {
	strategy := &sandbox.DirectStrategy{URL: "http://router.test"}
	address, err := called(strategy.Connect)(ctx)
	return errors.Join(err, expect("address", address, strategy.URL), called(strategy.Close)())
}

// Until the claim is no longer there.
func (it round) gone(ctx context.Context, claim string) error {
	if claim == "" {
		return errors.New("a claim without a name")
	}
	claims := it.helper.ExtensionsClient.SandboxClaims(it.namespace)
	selected := metav1.ListOptions{FieldSelector: "metadata.name=" + claim}
	changes, err := claims.Watch(ctx, selected)
	if err != nil {
		return err
	}
	defer changes.Stop()
	if _, err := claims.Get(ctx, claim, metav1.GetOptions{}); k8serrors.IsNotFound(err) {
		return nil
	}
	for change := range changes.ResultChan() {
		if change.Type == "DELETED" {
			return nil
		}
	}
	return fmt.Errorf("the claim %s stays", claim)
}

func expect[T comparable](what string, found, expected T) error {
	if found != expected {
		return fmt.Errorf("%s: %v instead of %v", what, found, expected)
	}
	return nil
}
