package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	k8serrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/remotecommand"
	"sigs.k8s.io/agent-sandbox/clients/go/sandbox"
)

type fields = map[string]any

// The executor of kubectl-ai for agent-sandbox: the same requests in the same order, since its module cannot be had. It knows
// v1alpha1 and Pods that are called like their Sandbox, and asks every two seconds.
type executor struct {
	helper                 *sandbox.K8sHelper
	name, namespace, image string
}

// All that it does in one session.
func (it executor) session(ctx context.Context) error {
	first, err := it.execute(ctx, "cat $KUBECONFIG; echo err >&2", []string{"WORD=word"}, "")
	if err != nil {
		return err
	}
	token := "/var/run/secrets/kubernetes.io/serviceaccount"
	second, err := it.execute(ctx, "test -s "+token+"/token && test -s "+token+"/ca.crt && echo $WORD $PWD", []string{"WORD=word"}, "/tmp/a b")
	if err != nil {
		return err
	}
	failed, err := it.execute(ctx, "exit 3", nil, "")
	if err == nil || !strings.Contains(err.Error(), "exit code 3") {
		return fmt.Errorf("a command that fails ends with %w and %v", err, failed)
	}
	return errors.Join(
		expect("the configuration of kubectl", strings.Contains(first.stdout, "server: https://kubernetes.default.svc"), true),
		expect("errors", first.stderr, "err\n"),
		expect("the second command", second.stdout, "word /tmp/a b\n"),
		it.close(ctx),
	)
}

type output struct{ stdout, stderr string }

func (it executor) execute(ctx context.Context, command string, env []string, directory string) (output, error) {
	command = "export PATH=/opt/bitnami/kubectl/bin:$PATH; " + command
	if directory != "" {
		command = fmt.Sprintf("mkdir -p %q && cd %q && %s", directory, directory, command)
	}
	for _, variable := range env {
		command = fmt.Sprintf("export %s; %s", variable, command)
	}
	if err := it.ensure(ctx); err != nil {
		return output{}, fmt.Errorf("ensure: %w", err)
	}
	if err := wait.PollUntilContextTimeout(ctx, 2*time.Second, 5*time.Minute, true, it.isReady); err != nil {
		return output{}, fmt.Errorf("wait: %w", err)
	}
	return it.exec(ctx, command)
}

func (it executor) sandboxes() dynamic.ResourceInterface {
	kind := schema.GroupVersionResource{Group: "agents.x-k8s.io", Version: "v1alpha1", Resource: "sandboxes"}
	return it.helper.DynamicClient.Resource(kind).Namespace(it.namespace)
}

func (it executor) ensure(ctx context.Context) error {
	_, err := it.sandboxes().Get(ctx, it.name, metav1.GetOptions{})
	if err == nil || !k8serrors.IsNotFound(err) {
		return err
	}
	content := fmt.Sprintf(configuration, it.namespace)
	configuration := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: it.name + "-kubeconfig", Namespace: it.namespace},
		Data:       map[string]string{"config": content},
	}
	_, err = it.helper.CoreClient.ConfigMaps(it.namespace).Create(ctx, configuration, metav1.CreateOptions{})
	if err != nil && !k8serrors.IsAlreadyExists(err) {
		return err
	}
	object := &unstructured.Unstructured{Object: fields{
		"apiVersion": "agents.x-k8s.io/v1alpha1",
		"kind":       "Sandbox",
		"metadata":   fields{"name": it.name, "namespace": it.namespace},
		"spec":       fields{"podTemplate": fields{"spec": it.pod()}, "replicas": int64(1)},
	}}
	_, err = it.sandboxes().Create(ctx, object, metav1.CreateOptions{})
	return err
}

const configuration = `apiVersion: v1
clusters:
- cluster:
    server: https://kubernetes.default.svc
    certificate-authority: /var/run/secrets/kubernetes.io/serviceaccount/ca.crt
  name: default
contexts:
- context:
    cluster: default
    namespace: %s
    user: default
  name: default
current-context: default
users:
- name: default
  user:
    tokenFile: /var/run/secrets/kubernetes.io/serviceaccount/token`

func (it executor) pod() fields {
	path := "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/opt/bitnami/kubectl/bin"
	return fields{
		"serviceAccountName": "normal-user",
		"restartPolicy":      "Never",
		"containers": []fields{{
			"name":    "main",
			"image":   it.image,
			"command": []string{"sleep"},
			"args":    []string{"infinity"},
			"env":     []fields{{"name": "KUBECONFIG", "value": "/etc/kube/config"}, {"name": "PATH", "value": path}},
			"volumeMounts": []fields{
				{"name": "kubeconfig-volume", "mountPath": "/etc/kube", "readOnly": true},
			},
		}},
		"volumes": []fields{{
			"name": "kubeconfig-volume",
			"configMap": fields{
				"name":  it.name + "-kubeconfig",
				"items": []fields{{"key": "config", "path": "config"}},
			},
		}},
	}
}

func (it executor) isReady(ctx context.Context) (bool, error) {
	object, err := it.sandboxes().Get(ctx, it.name, metav1.GetOptions{})
	if err != nil {
		return false, err
	}
	conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	for _, condition := range conditions {
		condition, _ := condition.(fields)
		if condition["type"] == "Ready" && condition["status"] == "True" {
			return true, nil
		}
	}
	return false, nil
}

func (it executor) exec(ctx context.Context, command string) (output, error) {
	request := it.helper.CoreClient.RESTClient().Post().
		Resource("pods").Name(it.name).Namespace(it.namespace).SubResource("exec").
		VersionedParams(&corev1.PodExecOptions{
			Container: "main", Command: []string{"/bin/sh", "-c", command}, Stdout: true, Stderr: true,
		}, scheme.ParameterCodec)
	streams, err := remotecommand.NewSPDYExecutor(it.helper.RestConfig, "POST", request.URL())
	if err != nil {
		return output{}, err
	}
	var stdout, stderr bytes.Buffer
	err = streams.StreamWithContext(ctx, remotecommand.StreamOptions{Stdout: &stdout, Stderr: &stderr})
	return output{stdout.String(), stderr.String()}, err
}

func (it executor) close(ctx context.Context) error {
	now := metav1.DeleteOptions{GracePeriodSeconds: new(int64)}
	if err := it.sandboxes().Delete(ctx, it.name, now); err != nil {
		return err
	}
	maps := it.helper.CoreClient.ConfigMaps(it.namespace)
	if err := maps.Delete(ctx, it.name+"-kubeconfig", metav1.DeleteOptions{}); err != nil {
		return err
	}
	return wait.PollUntilContextTimeout(ctx, 2*time.Second, time.Minute, true, func(ctx context.Context) (bool, error) {
		_, err := it.sandboxes().Get(ctx, it.name, metav1.GetOptions{})
		if k8serrors.IsNotFound(err) {
			return true, nil
		}
		return false, err
	})
}
