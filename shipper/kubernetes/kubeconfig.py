"""Reads the access to one cluster from a kubeconfig: that of its current context.

Only self-contained credentials are supported: a token, its file, or a client certificate. Plug-ins for credentials
(`exec`, `auth-provider`) are refused by name.
"""

import base64
import binascii
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import yaml

from log_shipper.config.text.secrets import without_passwords
from log_shipper.config.yaml.files import read_plain
from log_shipper.shipper.errors import StartError
from log_shipper.shipper.formats.json_documents import object_of, objects_of
from log_shipper.shipper.kubernetes.access import ApiAccess, Pem

_REFUSED_OF_USER = {
    "exec": "uses an exec plug-in for authentication, which is not supported",
    "auth-provider": "uses an auth-provider plug-in for authentication, which is not supported",
    "username": "uses a password, which API servers no longer accept since Kubernetes 1.19",
    "as": "impersonates another user (as), which is not supported",
}
_INSTEAD = "use a service account token (token or tokenFile), or a client certificate"


def read_kubeconfig(path: Path) -> ApiAccess:
    """Read the kubeconfig. Raises StartError."""
    source = f"kubeconfig {path}"
    try:
        document = yaml.safe_load(read_plain(path))
    except OSError as error:
        raise StartError(f"{source}: {error.strerror}; correct kube_config, or KUBECONFIG") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        # Without the error's text and cause, which quote the file: it may contain a token, or be another file by
        # mistake.
        mark = error.problem_mark if isinstance(error, yaml.MarkedYAMLError) else None
        raise StartError(f"{source}: not YAML{f': see line {mark.line + 1}' if mark else ''}") from None
    document = object_of(document)
    name = document.get("current-context")
    if not isinstance(name, str) or not name:
        raise StartError(
            f"{source}: no current-context; set it with 'kubectl --kubeconfig {path} config use-context NAME' (names: "
            f"'kubectl --kubeconfig {path} config get-contexts')"
        )
    context = _named(document, "context", name, source)
    cluster = _named(document, "cluster", str(context.get("cluster")), source)
    user = _named(document, "user", str(context.get("user")), source) if context.get("user") else {}
    return _access(_Files(path.parent, f"{source}, context {name}"), cluster, user)


class _Files:
    """Reads values given as a file or as base64. Paths are relative to the kubeconfig."""

    def __init__(self, folder: Path, source: str) -> None:
        self._folder = folder
        self.source = source

    def path(self, section: Mapping[str, Any], key: str) -> str:
        value = section.get(key)
        return str(self._folder / Path(str(value)).expanduser()) if value else ""

    def pem(self, section: Mapping[str, Any], key: str) -> Pem:
        data = section.get(f"{key}-data")
        if not data:
            return Pem(file=self.path(section, key))
        try:
            return Pem(text=base64.b64decode(str(data), validate=True).decode("ascii"))
        except (binascii.Error, UnicodeDecodeError) as error:
            raise StartError(f"{self.source}: {key}-data is not base64-encoded PEM") from error


def _access(files: _Files, cluster: Mapping[str, Any], user: Mapping[str, Any]) -> ApiAccess:
    for key, why in _REFUSED_OF_USER.items():
        if user.get(key):
            plugin = object_of(user[key])
            command = plugin.get("command") or plugin.get("name")
            by = f" ({command!r})" if command else ""
            raise StartError(f"{files.source}: the user {why}{by}; {_INSTEAD}")
    if cluster.get("proxy-url"):
        raise StartError(f"{files.source}: the server requires a proxy (proxy-url), which is not supported")
    server = urlsplit(str(cluster.get("server") or ""))
    try:
        port = server.port
    except ValueError:
        port = -1
    if server.scheme not in ("http", "https") or not server.hostname or port == -1:
        shown = without_passwords(str(cluster.get("server")))
        raise StartError(f"{files.source}: server is not a URL: {shown!r}; write https://host:6443")
    is_secure = server.scheme == "https"
    access = ApiAccess(
        host=server.hostname,
        port=port or (443 if is_secure else 80),
        source=files.source,
        base=server.path.rstrip("/"),
        is_secure=is_secure,
        authorities=files.pem(cluster, "certificate-authority"),
        verifies=not cluster.get("insecure-skip-tls-verify"),
        server_name=str(cluster.get("tls-server-name") or ""),
        token="" if user.get("tokenFile") else str(user.get("token") or ""),
        token_file=files.path(user, "tokenFile"),
        certificate=files.pem(user, "client-certificate"),
        key=files.pem(user, "client-key"),
    )
    if bool(access.certificate) != bool(access.key):
        raise StartError(f"{files.source}: client-certificate and client-key must be set together")
    return access


def _named(document: Mapping[str, Any], kind: str, name: str, source: str) -> Mapping[str, Any]:
    """Return the cluster, user or context of this name. Raises StartError."""
    for item in objects_of(document.get(f"{kind}s")):
        if item.get("name") == name:
            return object_of(item.get(kind))
    raise StartError(f"{source}: has no {kind} {name!r}")
