"""What kubeconfigs say, and what is refused."""

import base64

import pytest
import yaml

from agent_sandbox import Client, ConfigurationError
from agent_sandbox._destination import Cluster, InCluster, Local
from agent_sandbox._kubeconfig import read


def written(folder, name="config", user=None, cluster=None, context=None, **more):
    document = {
        "current-context": "here",
        "contexts": [{"name": "here", "context": {"cluster": "c", "user": "u", **(context or {})}}],
        "clusters": [{"name": "c", "cluster": {"server": "https://host:6443/", **(cluster or {})}}],
        "users": [{"name": "u", "user": user or {}}],
        **more,
    }
    file = folder / name
    file.write_text(yaml.safe_dump(document))
    return file


def test_certificates_tokens_and_namespaces_are_read(tmp_path):
    (tmp_path / "ca.pem").write_text("CA")
    data = base64.b64encode(b"CERT").decode()
    user = {"client-certificate-data": data, "client-key-data": data, "token": "t"}
    file = written(tmp_path, user=user, cluster={"certificate-authority": "ca.pem"}, context={"namespace": "team"})
    access = read(Cluster((file,)))
    assert (access.server, access.namespace) == ("https://host:6443", "team")
    assert (access.authority, access.certificate, access.key, access.bearer()) == (b"CA", b"CERT", b"CERT", "t")


def test_a_token_in_a_file_is_read_anew_each_time(tmp_path):
    (tmp_path / "token").write_text("one\n")
    access = read(Cluster((written(tmp_path, user={"tokenFile": "token", "token": "old"}),)))
    assert access.bearer() == "one"
    (tmp_path / "token").write_text("two\n")
    assert access.bearer() == "two"


def test_of_two_files_the_first_counts_and_missing_ones_are_passed_over(tmp_path):
    first = written(tmp_path, "first", user={"token": "first"})
    second = written(tmp_path, "second", user={"token": "second"}, **{"current-context": "elsewhere"})
    assert read(Cluster((tmp_path / "none", first, second))).bearer() == "first"
    with pytest.raises(ConfigurationError, match="has no context 'elsewhere'"):
        read(Cluster((second, first)))


@pytest.mark.parametrize("user", [{"auth-provider": {"name": "gcp"}}, {"username": "me"}, {"as": "x"}])
def test_what_is_not_understood_is_refused_with_what_helps(tmp_path, user):
    with pytest.raises(ConfigurationError, match="kubectl create token"):
        read(Cluster((written(tmp_path, user=user),)))


def test_proxies_missing_servers_and_rubbish_are_refused(tmp_path):
    with pytest.raises(ConfigurationError, match="proxy-url"):
        read(Cluster((written(tmp_path, cluster={"proxy-url": "http://p"}),)))
    with pytest.raises(ConfigurationError, match="no server"):
        read(Cluster((written(tmp_path, cluster={"server": ""}),)))
    with pytest.raises(ConfigurationError, match="client-key cannot be read"):
        read(Cluster((written(tmp_path, user={"client-key-data": "%%%"}),)))
    (tmp_path / "rubbish").write_text("just words")
    with pytest.raises(ConfigurationError, match="no kubeconfig"):
        read(Cluster((tmp_path / "rubbish",)))


def test_this_machine_without_a_daemon_says_how_to_start_one(tmp_path):
    with pytest.raises(ConfigurationError, match="asb up"):
        read(Local(tmp_path))


def test_the_account_of_a_pod(tmp_path):
    for name, content in {"token": "t", "namespace": "team", "ca.crt": "CA"}.items():
        (tmp_path / name).write_text(content)
    access = read(InCluster("https://10.0.0.1:443", tmp_path))
    assert (access.bearer(), access.namespace, access.authority) == ("t", "team", b"CA")


def test_addresses_and_contradictions_are_checked_before_anything_is_sent(tmp_path):
    with pytest.raises(ConfigurationError, match="router= is an address"):
        Client(server="http://host", router="localhost:8880")
    with pytest.raises(ConfigurationError, match="leave kubeconfig="):
        Client(data_dir=tmp_path, context="x")
    client = Client(kubeconfig=written(tmp_path, user={"token": "old"}, cluster={"server": "http://h"}), token="mine")
    assert client._io.connection.access.bearer() == "mine"
