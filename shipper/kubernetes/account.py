"""Finds the access: by a kubeconfig, or by the service account of the agent's own pod."""

import os
from collections.abc import Mapping
from pathlib import Path

from log_shipper.config.yaml.files import read_text
from log_shipper.shipper.kubernetes.access import ApiAccess as ApiAccess  # callers of find_access import it from here
from log_shipper.shipper.kubernetes.access import NoAccess as NoAccess
from log_shipper.shipper.kubernetes.access import Pem

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")


def find_access(
    kube_config: str = "", environment: Mapping[str, str] = os.environ, account: Path = SERVICE_ACCOUNT
) -> ApiAccess:
    """Return the access by this kubeconfig, or by that of KUBECONFIG, or by the pod's service account. Raises NoAccess,
    and StartError for an unusable kubeconfig.
    """
    kube_config = kube_config or _named(environment)
    if kube_config:
        from log_shipper.shipper.kubernetes.kubeconfig import read_kubeconfig  # a pod never needs it

        return read_kubeconfig(Path(kube_config).expanduser())
    host, port = environment.get("KUBERNETES_SERVICE_HOST", ""), environment.get("KUBERNETES_SERVICE_PORT", "443")
    if not host:
        raise NoAccess(
            "the agent is not in a pod (KUBERNETES_SERVICE_HOST is not set), and neither kube_config nor "
            "KUBECONFIG names a file"
        )
    token = account / "token"
    if not token.is_file():
        raise NoAccess(f"the pod has no service account: {token} is missing; set automountServiceAccountToken: true")
    if not port.isdecimal():
        raise NoAccess(f"KUBERNETES_SERVICE_PORT is not a port: {port!r}")
    return ApiAccess(
        host=host,
        port=int(port),
        source="the pod's service account",
        authorities=Pem(file=str(account / "ca.crt")),
        token_file=str(token),
        namespace=own_namespace(account),
    )


def in_pod() -> bool:
    """Return True if the agent runs in a pod of a cluster."""
    return bool(os.environ.get("KUBERNETES_SERVICE_HOST"))


def own_namespace(account: Path = SERVICE_ACCOUNT) -> str:
    """Return the namespace of the agent's own pod; "" outside of pods."""
    try:
        return read_text(account / "namespace").strip()
    except OSError:
        return ""


def _named(environment: Mapping[str, str]) -> str:
    """Return the first existing file of KUBECONFIG."""
    paths = environment.get("KUBECONFIG", "").split(os.pathsep)
    return next((path for path in paths if path and Path(path).expanduser().is_file()), "")
