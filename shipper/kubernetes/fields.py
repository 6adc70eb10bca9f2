"""Fields of a pod as Filebeat writes them (elastic-agent-autodiscover, `metadata`)."""

from collections.abc import Iterator, Mapping

from log_shipper.shipper.event import Doc
from log_shipper.shipper.formats.json_fields import labelled
from log_shipper.shipper.kubernetes.objects import Container, Named, Node, Pod
from log_shipper.shipper.options.kubernetes import AddResourceMetadataConfig, LabelOptions

OWNERS = ("Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "Job", "CronJob")
# A Deployment names its ReplicaSets by its own name and this label, which their pods also have.
TEMPLATE_HASH = "pod-template-hash"


class PodFields:
    """Creates fields; `labels` configures the pod's own, `resources` those of its owners."""

    def __init__(self, labels: LabelOptions, resources: AddResourceMetadataConfig) -> None:
        self._labels = labels
        self._resources = resources

    def build(self, pod: Pod, namespace: Named | None, node: Node | None) -> Doc:
        """Return the members of `kubernetes`; `namespace` and `node` are the pod's, if known."""
        resources = self._resources
        members: Doc = {"pod": present(name=pod.name, uid=pod.uid, ip=pod.ip), "namespace": pod.namespace}
        if namespace is not None and resources.namespace.enabled:
            of_namespace = {"uid": namespace.uid, **_labels_of(namespace, resources.namespace)}
            members |= {f"namespace_{name}": value for name, value in of_namespace.items()}
        members["node"] = present(name=pod.node)
        if node is not None and resources.node.enabled:
            members["node"] = present(name=node.name, uid=node.uid, hostname=node.hostname)
            members["node"] |= _labels_of(node, resources.node)
        members |= _labels_of(pod, self._labels)
        members |= {kind.lower(): {"name": name} for kind, name in self._owners(pod)}
        return {name: value for name, value in members.items() if value}

    def _owners(self, pod: Pod) -> Iterator[tuple[str, str]]:
        if pod.owner is None or pod.owner.kind not in OWNERS:
            return
        yield pod.owner.kind, pod.owner.name
        suffix = f"-{pod.labels.get(TEMPLATE_HASH, '')}"
        if self._resources.deployment and pod.owner.kind == "ReplicaSet" and len(suffix) > 1:
            deployment = pod.owner.name.removesuffix(suffix)
            if deployment != pod.owner.name:
                yield "Deployment", deployment
        if self._resources.cronjob and pod.cron_job:
            yield "CronJob", pod.cron_job


def container_of(pod: Pod, identity: str, name: str) -> Container | None:
    """Return the container with this id, else the one with this name, whose id may differ."""
    by_id = (container for container in pod.containers if identity and container.id == identity)
    by_name = (container for container in pod.containers if container.name == name)
    return next(by_id, None) or next(by_name, None)


def wanted_labels(labels: Mapping[str, str], annotations: Mapping[str, str], options: LabelOptions) -> Doc:
    """Return the members `labels` and `annotations`, without empty ones."""
    included = {
        name: value
        for name, value in labels.items()
        if (not options.include_labels or name in options.include_labels) and name not in options.exclude_labels
    }
    notes = {name: annotations[name] for name in options.include_annotations if name in annotations}
    members = {
        "labels": labelled(included, dedot=options.labels_dedot),
        "annotations": labelled(notes, dedot=options.annotations_dedot),
    }
    return {name: value for name, value in members.items() if value}


def _labels_of(item: Named, options: LabelOptions) -> Doc:
    return wanted_labels(item.labels, item.annotations, options)


def present(**values: str) -> Doc:
    return {name: value for name, value in values.items() if value}
