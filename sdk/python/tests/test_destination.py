"""Where to connect to."""

from pathlib import Path

import pytest

from agent_sandbox import ConfigurationError
from agent_sandbox._destination import Asked, Cluster, InCluster, Local, Surroundings, choose


def chosen(asked=None, in_pod=False, is_root=False, **environment):
    return choose(asked or Asked(), Surroundings({"HOME": "/home/user", **environment}, in_pod, is_root))


def test_without_a_word_it_is_this_machine_and_never_the_default_kubeconfig():
    assert chosen() == Local(Path("/home/user/.local/state/asb"))
    assert chosen(is_root=True) == Local(Path("/var/lib/asb"))
    assert chosen(XDG_STATE_HOME="/state") == Local(Path("/state/asb"))


def test_the_environment_names_a_cluster_or_a_data_directory():
    assert chosen(KUBECONFIG="/a:/b") == Cluster((Path("/a"), Path("/b")))
    assert chosen(ASB_DATA_DIR="/data") == Local(Path("/data"))
    assert chosen(KUBECONFIG="/a", ASB_DATA_DIR="/data") == Cluster((Path("/a"),))


def test_what_is_named_outright_counts_first():
    assert chosen(Asked(data_dir=Path("/mine")), KUBECONFIG="/a") == Local(Path("/mine"))
    assert chosen(Asked(kubeconfig=Path("/k")), KUBECONFIG="/a") == Cluster((Path("/k"),))


def test_a_context_is_one_of_the_environments_kubeconfig_or_of_the_default_one():
    assert chosen(Asked(context="prod"), KUBECONFIG="/a") == Cluster((Path("/a"),), "prod")
    assert chosen(Asked(context="prod")) == Cluster((Path("/home/user/.kube/config"),), "prod")


def test_a_pod_uses_its_account_unless_something_else_was_named():
    pod = {"in_pod": True, "KUBERNETES_SERVICE_HOST": "10.0.0.1", "KUBERNETES_SERVICE_PORT": "6443"}
    assert chosen(**pod) == InCluster("https://10.0.0.1:6443")
    assert chosen(**(pod | {"KUBERNETES_SERVICE_HOST": "fd00::1"})) == InCluster("https://[fd00::1]:6443")
    assert chosen(**pod, KUBECONFIG="/a") == Cluster((Path("/a"),))
    assert chosen(**(pod | {"in_pod": False})) == Local(Path("/home/user/.local/state/asb"))


def test_without_a_home_it_says_what_to_name():
    with pytest.raises(ConfigurationError, match="data_dir="):
        choose(Asked(), Surroundings({}))
