"""Where the API server is: the pod's service account, or a kubeconfig."""

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from log_shipper.shipper.errors import StartError
from log_shipper.shipper.kubernetes.access import ApiAccess, NoAccess, Pem
from log_shipper.shipper.kubernetes.account import find_access

SERVICE = {"KUBERNETES_SERVICE_HOST": "10.96.0.1", "KUBERNETES_SERVICE_PORT": "443"}
PEM = "-----BEGIN CERTIFICATE-----\n"


@pytest.fixture
def account(tmp_path: Path) -> Path:
    folder = tmp_path / "account"
    folder.mkdir()
    for name, content in {"token": "t1\n", "ca.crt": PEM, "namespace": "logging\n"}.items():
        (folder / name).write_text(content)
    return folder


class Kubeconfig:
    def __init__(self, path: Path) -> None:
        self.path = path

    def write(self, cluster: dict[str, Any] | None = None, user: dict[str, Any] | None = None, **changes: Any) -> str:
        document = {
            "current-context": "home",
            "contexts": [{"name": "home", "context": {"cluster": "c", "user": "u"}}],
            "clusters": [{"name": "c", "cluster": {"server": "https://api.example:6443/k8s/", **(cluster or {})}}],
            "users": [{"name": "u", "user": user or {}}],
            **changes,
        }
        self.path.write_text(json.dumps(document))
        return str(self.path)

    def access(self, *arguments: Any, **changes: Any) -> ApiAccess:
        return find_access(self.write(*arguments, **changes), {})

    def problem(self, *arguments: Any, **changes: Any) -> str:
        with pytest.raises(StartError) as raised:
            self.access(*arguments, **changes)
        return str(raised.value)


@pytest.fixture
def kubeconfig(tmp_path: Path) -> Kubeconfig:
    return Kubeconfig(tmp_path / "config")


def test_a_pod_uses_its_account(account: Path) -> None:
    access = find_access("", SERVICE, account)
    assert str(access) == "https://10.96.0.1:443"
    assert access.authorities == Pem(file=str(account / "ca.crt"))
    assert (access.bearer(), access.namespace) == ("t1", "logging")
    (account / "token").write_text("t2")
    assert access.bearer() == "t2"


def test_an_address_of_version_6_is_written_in_brackets(account: Path) -> None:
    assert str(find_access("", {**SERVICE, "KUBERNETES_SERVICE_HOST": "fd00::1"}, account)) == "https://[fd00::1]:443"


@pytest.mark.parametrize(
    ("environment", "text"),
    [
        ({}, "KUBERNETES_SERVICE_HOST is not set"),
        ({**SERVICE, "KUBERNETES_SERVICE_PORT": "tcp://10.0.0.1:443"}, "is not a port"),
    ],
)
def test_without_a_server_the_reason_is_reported(account: Path, environment: dict[str, str], text: str) -> None:
    with pytest.raises(NoAccess, match=text):
        find_access("", environment, account)


def test_a_pod_without_an_account_is_reported(tmp_path: Path) -> None:
    with pytest.raises(NoAccess, match="automountServiceAccountToken: true"):
        find_access("", SERVICE, tmp_path)


def test_a_kubeconfig_takes_precedence_over_the_account(account: Path, kubeconfig: Kubeconfig, tmp_path: Path) -> None:
    path = kubeconfig.write()
    assert find_access(path, SERVICE, account).host == "api.example"
    assert find_access("", {**SERVICE, "KUBECONFIG": f"{tmp_path}/none:{path}"}, account).host == "api.example"
    assert find_access("", {**SERVICE, "KUBECONFIG": f"{tmp_path}/none"}, account).host == "10.96.0.1"


def test_a_kubeconfig_has_the_server_and_the_credentials(kubeconfig: Kubeconfig, tmp_path: Path) -> None:
    access = kubeconfig.access({"certificate-authority": "ca.crt", "tls-server-name": "x"}, {"token": "t"})
    assert str(access) == "https://api.example:6443/k8s"
    assert (access.bearer(), access.server_name, access.verifies) == ("t", "x", True)
    assert access.authorities == Pem(file=str(tmp_path / "ca.crt"))
    assert "home" in access.source


def test_a_token_file_of_a_kubeconfig_is_read_again(kubeconfig: Kubeconfig, tmp_path: Path) -> None:
    access = kubeconfig.access({"insecure-skip-tls-verify": True}, {"tokenFile": "token", "token": "old"})
    (tmp_path / "token").write_text("new\n")
    assert (access.bearer(), access.verifies) == ("new", False)


def test_certificates_may_be_in_the_kubeconfig_itself(kubeconfig: Kubeconfig) -> None:
    data = base64.b64encode(PEM.encode()).decode()
    access = kubeconfig.access(
        {"certificate-authority-data": data}, {"client-certificate-data": data, "client-key-data": data}
    )
    assert access.authorities == access.certificate == access.key == Pem(text=PEM)
    assert PEM.strip() not in repr(access)


def test_a_server_without_tls_has_its_own_port(kubeconfig: Kubeconfig) -> None:
    access = kubeconfig.access({"server": "http://localhost"}, contexts=[{"name": "home", "context": {"cluster": "c"}}])
    assert (str(access), access.is_secure) == ("http://localhost:80", False)


@pytest.mark.parametrize(
    ("cluster", "user", "changes", "text"),
    [
        (
            {},
            {"exec": {"command": "aws"}},
            {},
            "the user uses an exec plug-in for authentication, which is not supported ('aws')",
        ),
        (
            {},
            {"auth-provider": {"name": "gcp"}},
            {},
            "auth-provider plug-in for authentication, which is not supported ('gcp')",
        ),
        ({}, {"username": "me", "password": "p"}, {}, "uses a password"),
        ({}, {"as": "other"}, {}, "impersonates another user"),
        ({"proxy-url": "http://proxy"}, {}, {}, "proxy-url"),
        ({"server": "api.example"}, {}, {}, "server is not a URL: 'api.example'"),
        ({"server": "https://api.example:x"}, {}, {}, "server is not a URL"),
        ({"certificate-authority-data": "%"}, {}, {}, "certificate-authority-data is not base64-encoded PEM"),
        ({}, {"client-certificate": "c.crt"}, {}, "client-certificate and client-key must be set together"),
        ({}, {}, {"current-context": ""}, "no current-context"),
        ({}, {}, {"current-context": "away"}, "has no context 'away'"),
        ({}, {}, {"clusters": [{"name": "other"}]}, "has no cluster 'c'"),
        ({}, {}, {"users": None}, "has no user 'u'"),
    ],
)
def test_what_cannot_be_used_is_refused_by_name(
    kubeconfig: Kubeconfig, cluster: dict[str, Any], user: dict[str, Any], changes: dict[str, Any], text: str
) -> None:
    message = kubeconfig.problem(cluster, user, **changes)
    assert text in message
    assert message.startswith(f"kubeconfig {kubeconfig.path}")


@pytest.mark.parametrize(
    ("content", "text"), [(b"a: [", "not YAML"), (b"\xff\xfe\x00", "not YAML"), (b"7", "no current-context")]
)
def test_a_file_that_is_no_kubeconfig_is_refused(tmp_path: Path, content: bytes, text: str) -> None:
    path = tmp_path / "config"
    path.write_bytes(content)
    with pytest.raises(StartError, match=text):
        find_access(str(path), {})


def test_a_missing_kubeconfig_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StartError, match="No such file or directory; correct kube_config"):
        find_access(str(tmp_path / "none"), {})
