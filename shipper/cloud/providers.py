"""The requests to each cloud, and the fields of its response: those that Filebeat writes, without adjacent secrets.
Documents have them at the top: `cloud`, and `orchestrator` for a machine of a Kubernetes cluster.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from log_shipper.shipper.cloud.service import LINK_LOCAL, NoMetadata, Service, is_name
from log_shipper.shipper.event import Doc
from log_shipper.shipper.formats.json_documents import object_of

TOKEN_SECONDS = 1.0  # for the AWS token, whose response may be lost on its way to a container
MAX_TAGS = 50  # of tags that an AWS instance may have
AWS_DOCUMENT = "/latest/dynamic/instance-identity/document"
AWS_TAGS = "/latest/meta-data/tags/instance"
EKS_CLUSTER = "eks:cluster-name"
_SERVER = re.compile(r"^[ -]*server: *['\"]?(https?://[^\s'\"]{1,256})", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Provider:
    """A cloud; `fetch` blocks, and raises NoMetadata. `name` is that of the option `providers`."""

    name: str
    host: str
    fetch: Callable[[Service], Doc]
    is_secure: bool = False


def aws(service: Service) -> Doc:
    headers = _aws_token(service)
    document = service.document(AWS_DOCUMENT, headers)
    region, account = _text(document, "region"), _text(document, "accountId")
    cloud = {
        "provider": "aws",
        "service": {"name": "EC2"},
        "instance": {"id": _needed(document, "instanceId")},
        "machine": {"type": _text(document, "instanceType")},
        "region": region,
        "availability_zone": _text(document, "availabilityZone"),
        "account": {"id": account},
        "image": {"id": _text(document, "imageId")},
    }
    now = service.clock.monotonic()
    tags = _aws_tags(service.until((now + service.deadline) / 2), headers)  # everything else is more useful
    cluster = tags.get(EKS_CLUSTER, "")
    arn = f"arn:aws:eks:{region}:{account}:cluster/{cluster}" if cluster else ""
    return _present({"cloud": cloud, "orchestrator": {"cluster": {"name": cluster, "id": arn}}, "aws": {"tags": tags}})


def _aws_token(service: Service) -> Mapping[str, str]:
    """Return the header of a session (IMDSv2). The service may also respond without a token: the response to this
    request does not pass the hop limit, which by default does not reach into a container.
    """
    soon = service.until(service.clock.monotonic() + TOKEN_SECONDS)
    with suppress(NoMetadata):
        token = soon.put("/latest/api/token", {"X-aws-ec2-metadata-token-ttl-seconds": "300"})
        if 0 < len(token) <= 1024 and token.isascii() and token.decode().isprintable():
            return {"X-aws-ec2-metadata-token": token.decode()}
    return {}


def _aws_tags(service: Service, headers: Mapping[str, str]) -> dict[str, str]:
    """Return the tags of the instance, which by default it may not read."""
    tags: dict[str, str] = {}
    names: list[str] = []
    with suppress(NoMetadata):
        names = service.get(AWS_TAGS, headers).decode("utf-8", "replace").splitlines()[:MAX_TAGS]
    for name in filter(is_name, names):
        with suppress(NoMetadata):
            tags[name] = service.text(f"{AWS_TAGS}/{name}", headers)
    return tags


def azure(service: Service) -> Doc:
    document = service.document("/metadata/instance/compute?api-version=2021-02-01", {"Metadata": "true"})
    cloud = {
        "provider": "azure",
        "service": {"name": "Virtual Machines"},
        "instance": {"id": _needed(document, "vmId"), "name": _text(document, "name")},
        "machine": {"type": _text(document, "vmSize")},
        "region": _text(document, "location"),
        "account": {"id": _text(document, "subscriptionId")},
    }
    return _present({"cloud": cloud})


def gcp(service: Service) -> Doc:
    document = service.document("/computeMetadata/v1/?recursive=true&alt=json", {"Metadata-Flavor": "Google"})
    instance, project = object_of(document.get("instance")), object_of(document.get("project"))
    attributes = object_of(instance.get("attributes"))
    zone = _last(_text(instance, "zone"))
    identity = _text(project, "projectId")
    cloud = {
        "provider": "gcp",
        "service": {"name": "GCE"},
        "instance": {"id": _needed(instance, "id"), "name": _text(instance, "name")},
        "machine": {"type": _last(_text(instance, "machineType"))},
        "availability_zone": zone,
        "region": zone.rpartition("-")[0],
        "account": {"id": identity},
        "project": {"id": identity},
    }
    cluster = _text(attributes, "cluster-name")
    # A machine of a cluster has the kubeconfig of its kubelet.
    url = _server(attributes.get("kubeconfig")) if cluster else ""
    return _present({"cloud": cloud, "orchestrator": {"cluster": {"name": cluster, "url": url}}})


def digitalocean(service: Service) -> Doc:
    document = service.document("/metadata/v1.json")
    cloud = {
        "provider": "digitalocean",
        "service": {"name": "Droplets"},
        "instance": {"id": _needed(document, "droplet_id")},
        "region": _text(document, "region"),
    }
    return _present({"cloud": cloud})


def hetzner(service: Service) -> Doc:
    base = "/hetzner/v1/metadata"
    cloud = {
        "provider": "hetzner",
        "service": {"name": "Cloud"},
        "instance": {"id": service.text(f"{base}/instance-id"), "name": service.text(f"{base}/hostname")},
        "availability_zone": service.text(f"{base}/availability-zone"),
        "region": service.text(f"{base}/region"),
    }
    return {"cloud": cloud}


def openstack(service: Service) -> Doc:
    """Nova also uses the paths of EC2, and so do clouds based on it, such as Huawei's."""
    base = "/2009-04-04/meta-data"
    cloud = {
        "provider": "openstack",
        "service": {"name": "Nova"},
        "instance": {"id": service.text(f"{base}/instance-id"), "name": service.text(f"{base}/hostname")},
        "machine": {"type": service.text(f"{base}/instance-type")},
        "availability_zone": service.text(f"{base}/placement/availability-zone"),
    }
    return {"cloud": cloud}


def alibaba(service: Service) -> Doc:
    base = "/latest/meta-data"
    cloud = {
        "provider": "ecs",
        "service": {"name": "ECS"},
        "instance": {"id": service.text(f"{base}/instance-id")},
        "region": service.text(f"{base}/region-id"),
        "availability_zone": service.text(f"{base}/zone-id"),
    }
    return {"cloud": cloud}


def tencent(service: Service) -> Doc:
    base = "/meta-data"
    cloud = {
        "provider": "qcloud",
        "service": {"name": "CVM"},
        "instance": {"id": service.text(f"{base}/instance-id")},
        "region": service.text(f"{base}/placement/region"),
        "availability_zone": service.text(f"{base}/placement/zone"),
    }
    return {"cloud": cloud}


# The first of several responding clouds wins: OpenStack uses the paths of EC2, as others do.
PROVIDERS = (
    Provider("aws", LINK_LOCAL, aws),
    Provider("azure", LINK_LOCAL, azure),
    Provider("gcp", LINK_LOCAL, gcp),
    Provider("digitalocean", LINK_LOCAL, digitalocean),
    Provider("hetzner", LINK_LOCAL, hetzner),
    Provider("alibaba", "100.100.100.200", alibaba),
    Provider("tencent", "metadata.tencentyun.com", tencent),
    Provider("openstack", LINK_LOCAL, openstack),
    Provider("openstack-ssl", LINK_LOCAL, openstack, is_secure=True),
)


def _needed(document: Mapping[str, Any], name: str) -> str:
    """Return the id that identifies a response of the service. Raises NoMetadata."""
    text = _text(document, name)
    if not text:
        raise NoMetadata(f"the response has no {name}")
    return text


def _text(document: Mapping[str, Any], name: str) -> str:
    """Return a name, or a number as text; empty for anything else."""
    value = document.get(name)
    text = str(value) if isinstance(value, str | int) and not isinstance(value, bool) else ""
    return text if is_name(text) else ""


def _server(kubeconfig: Any) -> str:
    """Return the address of the first cluster, or "". The text is searched, because a hostile response could keep a
    YAML parser busy for minutes.
    """
    match = _SERVER.search(kubeconfig) if isinstance(kubeconfig, str) else None
    return match[1] if match else ""


def _last(path: str) -> str:
    """Return the name at the end of projects/1/zones/us-east1-b."""
    return path.rpartition("/")[2]


def _present(members: Doc) -> Doc:
    """Return the members without empty strings and objects that contain only those."""
    present = {name: _present(value) if isinstance(value, dict) else value for name, value in members.items()}
    return {name: value for name, value in present.items() if value}
