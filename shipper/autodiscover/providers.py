"""Creates the providers of a configuration."""

from functools import partial

from log_shipper.shipper.autodiscover.composition import ProviderContext, RunningProvider
from log_shipper.shipper.errors import StartError
from log_shipper.shipper.options.providers import DockerProvider, KubernetesProvider


def make_provider(provider: object, context: ProviderContext) -> RunningProvider:
    """Return a provider, not yet started. Raises StartError."""
    match provider:
        case KubernetesProvider():
            return _pods(provider, context)
        case DockerProvider():
            return _docker(provider, context)
    raise TypeError(f"{provider} is not a provider")


def _pods(provider: KubernetesProvider, context: ProviderContext) -> RunningProvider:
    from log_shipper.shipper.autodiscover.kubernetes_pods import PodProvider
    from log_shipper.shipper.kubernetes.access import NoAccess
    from log_shipper.shipper.kubernetes.account import find_access
    from log_shipper.shipper.kubernetes.fields import PodFields
    from log_shipper.shipper.kubernetes.watcher import ClusterWatcher, WatchScope

    try:
        access = find_access(provider.kube_config or "")
    except NoAccess as error:
        raise StartError(f"{context.path}: {error}; pods are listed by the API server only") from error
    resources = provider.add_resource_metadata
    scope = WatchScope(
        node=provider.node or "",
        whole_cluster=provider.scope == "cluster",
        namespace=provider.namespace or "",
        with_nodes=resources.node.enabled,
        with_cron_jobs=resources.cronjob,
    )
    fields = PodFields(provider, resources)
    return PodProvider(
        context.reporter, fields.build, lambda changed: ClusterWatcher(scope, access, context.clock, changed)
    )


def _docker(provider: DockerProvider, context: ProviderContext) -> RunningProvider:
    from log_shipper.shipper.autodiscover.docker_containers import DockerContainers
    from log_shipper.shipper.docker.client import DockerClient
    from log_shipper.shipper.docker.place import place_of
    from log_shipper.shipper.docker.watcher import Watcher
    from log_shipper.shipper.formats.json_fields import labelled

    client = DockerClient(place_of(provider.host, provider.ssl), context.clock)
    return DockerContainers(
        context.reporter,
        partial(labelled, dedot=provider.dedot),
        lambda listener: Watcher(client, context.clock, provider.cleanup_timeout, listener),
    )
