"""`logging.selectors` and `-d`: converts Filebeat's debug selectors to our components.

Filebeat has about two hundred, one per logger; these are the common ones.
"""

from collections.abc import Collection, Iterable, Iterator

ALL = "*"
_SELECTORS = {
    "source": "input harvester crawler scanner file_watcher filewatcher prospector filestream log stdin input-logfile",
    "reader": "readfile reader_json reader_multiline reader_docker_json multiline parser_ndjson container syslog",
    "processor": "processors processor conditions filters kubernetes docker dissect dns cache add_kubernetes_metadata "
    "add_docker_metadata add_host_metadata",
    "pipeline": "publish publisher publisher_pipeline_output pipeline processing queue spooler acker",
    "output": "output outputs kafka sarama file console tls sasl transport",
    "registry": "registry registrar statestore store store_cleanup",
    "reload": "reload cfgfile config cfgwarn modules fileset centralmgmt",
    "monitor": "monitor monitoring stats api metrics",
    "kafka": "kafka sarama",
    "kubernetes": "add_kubernetes_metadata",
}


def selected(selectors: Iterable[str], components: Collection[str]) -> set[str]:
    """Return the components that the selectors name. The part after a dot (`input.filestream`) is ignored."""
    names = {selector.strip().partition(".")[0].lower() for selector in selectors}
    if ALL in names:
        return set(components)
    return {component for component in components if component in names or names & set(_known(component))}


def without_component(selectors: Iterable[str], components: Collection[str]) -> Iterator[str]:
    """Yield the selectors that match no component."""
    yield from (selector for selector in selectors if not selected((selector,), components))


def _known(component: str) -> list[str]:
    return _SELECTORS.get(component, "").split()
