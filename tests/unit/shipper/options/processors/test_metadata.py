"""The options of add_host_metadata, add_process_metadata, add_cloud_metadata, add_docker_metadata,
add_kubernetes_metadata and dns."""

from pathlib import Path
from typing import Any

import pytest

from log_shipper.config.text.secrets import Secret
from log_shipper.config.yaml.errors import ConfigError
from log_shipper.config.yaml.load import load
from log_shipper.shipper.options.docker import DockerHost, DockerTlsConfig, docker_host
from log_shipper.shipper.options.model import ShipperConfig
from log_shipper.shipper.options.processors.cloud_metadata import CloudTlsConfig
from log_shipper.shipper.options.processors.dns import Nameserver, nameserver

WHOLE = """\
shipper.inputs: [{id: app, paths: [/var/log/app.log]}]
output.console.pretty: false
processors:
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "shipper.yml"


def loaded(file: Path, processor: str) -> tuple[Any, list[str]]:
    """The one processor, and the notes."""
    file.write_text(f"{WHOLE}  - {processor}\n")
    config = load(file, ShipperConfig, (), {})
    return config.processors[0], [note.replace(f" ({file}:4)", "") for note in getattr(config, "notes", ())]


def mistakes(file: Path, processor: str) -> list[str]:
    file.write_text(f"{WHOLE}  - {processor}\n")
    with pytest.raises(ConfigError) as caught:
        load(file, ShipperConfig, (), {})
    return [line.partition("processors[0].")[2] for line in str(caught.value).splitlines()]


@pytest.mark.parametrize(
    ("processor", "expected"),
    [
        ("add_host_metadata:", {"netinfo": True, "ttl": 300.0, "replace_fields": True, "geo": None}),
        ("add_host_metadata: {netinfo.enabled: false, cache.ttl: 1m}", {"netinfo": False, "ttl": 60.0}),
        ("add_host_metadata: {cache.ttl: -1s}", {"ttl": 0.0}),
        ("add_process_metadata:", {"match_pids": ("process.pid", "process.parent.pid"), "ignore_missing": True}),
        (
            "add_process_metadata: {include_fields: [process.owner]}",
            {"fields": ("process.owner.name", "process.owner.id")},
        ),
        ("add_cloud_metadata:", {"timeout": 3.0, "providers": (), "overwrite": False, "host": None}),
        (
            "add_cloud_metadata: {timeout: 500ms, providers: [aws, huawei, nova-ssl], overwrite: true, host: 'h:1'}",
            {"timeout": 0.5, "providers": ("aws", "huawei", "nova-ssl"), "overwrite": True, "host": "h:1"},
        ),
        ("add_cloud_metadata: {providers: aws}", {"providers": ("aws",)}),
        (
            "add_cloud_metadata: {ssl: {verification_mode: none, certificate_authorities: [/ca.pem]}}",
            {"ssl": CloudTlsConfig(verification_mode="none", certificate_authorities=("/ca.pem",))},
        ),
        ("add_docker_metadata: {labels.dedot: false}", {"dedot": False, "match_source_index": 4, "match_source": True}),
        ("add_docker_metadata:", {"host": "unix:///var/run/docker.sock", "ssl": None, "cleanup_timeout": 60.0}),
        (
            "add_docker_metadata: {host: 'tcp://h:2376', ssl: {certificate_authority: /ca, certificate: /c, key: /k}}",
            {"ssl": DockerTlsConfig(certificate_authority="/ca", certificate="/c", key=Secret("/k"))},
        ),
        ("add_docker_metadata: {host: ''}", {"host": ""}),
        (
            "add_kubernetes_metadata:",
            {"default_matchers": True, "logs_paths": (), "scope": "node", "wait_for_metadata": 2.0, "node": None},
        ),
        ("add_kubernetes_metadata: {host: n1, wait_for_metadata: 500ms}", {"node": "n1", "wait_for_metadata": 0.5}),
        ("add_kubernetes_metadata: {wait_for_metadata: true}", {"wait_for_metadata": 30.0}),
        ("add_kubernetes_metadata: {wait_for_metadata: false}", {"wait_for_metadata": 0.0}),
        (
            "add_kubernetes_metadata: {matchers: [{logs_path: {logs_path: /var/log/containers}}]}",
            {"logs_paths": ("/var/log/containers/",)},
        ),
        ("dns: {type: reverse, fields: {a.b: c.d, e: {f: g}}}", {"kind": "PTR", "fields": {"a.b": "c.d", "e.f": "g"}}),
        ("dns: {type: aaaa, fields: {a: b}}", {"kind": "AAAA", "order": "kept", "timeout": 0.5, "transport": "udp"}),
    ],
)
def test_options_and_defaults(file: Path, processor: str, expected: dict[str, Any]) -> None:
    found, _ = loaded(file, processor)
    assert {name: getattr(found, name) for name in expected} == expected


def test_all_of_dns_that_the_documentation_of_filebeat_shows(file: Path) -> None:
    options = (
        "{type: reverse, action: append, transport: tls, fields: {server.ip: server.domain}, "
        "success_cache: {capacity.initial: 1000, capacity.max: 10000, min_ttl: 1m}, "
        "failure_cache: {capacity.initial: 1000, capacity.max: 10000, ttl: 1m}, "
        "nameservers: ['192.0.2.1', '203.0.113.1'], timeout: 500ms, tag_on_failure: [_dns_reverse_lookup_failed]}"
    )
    found, notes = loaded(file, f"dns: {options}")
    assert (found.success_cache.capacity, found.success_cache.min_ttl, found.failure_cache.ttl) == (10000, 60, 60)
    assert len(notes) == 2
    assert all("capacity.initial: the cache grows as needed" in note for note in notes)


@pytest.mark.parametrize(
    ("processor", "count", "words"),
    [
        ("add_docker_metadata: {wait_for_metadata: true, wait_for_metadata_timeout: 1m}", 2, "starts without Docker"),
        ("add_docker_metadata: {tls: {certificate: x}}", 1, "it is named ssl"),
        ("add_kubernetes_metadata: {indexers: [{ip_port: }], default_indexers.enabled: false}", 2, "found by its uid"),
        ("add_kubernetes_metadata: {sync_period: 1m, use_kubeadm: false, in_cluster: true}", 3, "ignored: "),
        ("add_kubernetes_metadata: {kube_client_options: {qps: 5, burst: 10}}", 2, "a few requests an hour"),
        ("add_kubernetes_metadata: {scope: cluster, node: n1}", 1, "not used with scope: cluster"),
        ("add_kubernetes_metadata: {matchers: [{fields: {lookup_fields: [a]}}]}", 1, "by their path alone"),
        ("add_kubernetes_metadata: {default_matchers.enabled: false}", 1, "no metadata is added"),
    ],
)
def test_what_asks_an_api_is_accepted_with_a_note(file: Path, processor: str, count: int, words: str) -> None:
    _, notes = loaded(file, processor)
    assert len(notes) == count
    assert all(words in note for note in notes)


@pytest.mark.parametrize(
    ("processor", "words"),
    [
        ("add_host_metadata: {geo.location: here}", "geo.location: must be latitude, longitude"),
        ("add_process_metadata: {include_fields: [process.x]}", "include_fields[0]: unknown field 'process.x'; "),
        ("add_process_metadata: {include_fields: [process.env]}", "it needs restricted_fields: true"),
        ("add_process_metadata: {cgroup_regex: '(a)', cgroup_prefixes: [/b]}", "give it or cgroup_prefixes, not both"),
        ("add_process_metadata: {cgroup_regex: '('}", "is not a regular expression"),
        ("add_cloud_metadata: {providers: [aws, gce]}", "providers[1]: 'gce' must be one of: aws, ec2, azure, gcp"),
        ("add_cloud_metadata: {timeout: 0}", "timeout: must be more than 0"),
        ("add_cloud_metadata: {host: 'h:x'}", "host: 'h:x' must be host:port"),
        ("add_docker_metadata: {host: /var/run/docker.sock}", "host: '/var/run/docker.sock' is not where a Docker can"),
        (
            "add_docker_metadata: {host: 'npipe:////./pipe/docker_engine'}",
            "is a pipe of Windows, which is not supported",
        ),
        ("add_docker_metadata: {host: 'tcp://h'}", "host: 'tcp://h' is not where a Docker can be; write unix:///var"),
        ("add_docker_metadata: {host: 'tcp://h:x'}", "host: 'tcp://h:x' has no port that is a number"),
        ("add_docker_metadata: {host: 'https://h:1'}", "host: https needs a section ssl"),
        ("add_docker_metadata: {ssl: {}}", "ssl: is for a Docker at tcp://; unix:///var/run/docker.sock is a socket"),
        ("add_docker_metadata: {host: 'tcp://h:1', ssl: {key: /k}}", "ssl.key: needs certificate, too"),
        ("add_kubernetes_metadata: {matchers: [{odd: {}}]}", "unknown matcher"),
        ("add_kubernetes_metadata: {scope: nodes}", "scope: 'nodes' must be one of: node, cluster"),
        ("add_kubernetes_metadata: {wait_for_metadata: soon}", "wait_for_metadata: 'soon' is not a duration"),
        ("add_kubernetes_metadata: {use_regex_include: true}", "use_regex_include: not supported; name the labels"),
        ("add_kubernetes_metadata: {add_resource_metadata: {node: {includ_labels: [a]}}}", "include_labels"),
        ("dns: {fields: {a: b}}", "type: missing"),
        ("dns: {type: mx, fields: {a: b}}", "type: 'mx' must be one of: reverse (or PTR), A, AAAA, TXT"),
        ("dns: {type: a, fields: {}}", "fields: must not be empty"),
        ("dns: {type: a, fields: {a: 5}}", "fields.a: must be the name of a field"),
        ("dns: {type: a, fields: {a: b}, timeout: 0}", "timeout: must be more than 0"),
        ("dns: {type: a, fields: {a: b}, nameservers: ['x:y']}", "'x:y' is not a name server"),
        ("dns: {type: a, fields: {a: b}, success_cache.min_ttl: 0}", "min_ttl: must be more than 0"),
        ("dns: {type: a, fields: {a: b}, failure_cache.ttl: 0}", "ttl: must be more than 0"),
        ("dns: {type: a, fields: {a: b}, order: any}", "order: 'any' must be one of: kept, free"),
        ("{if.has_fields: [a], then: [{dns: {type: a, fields: {a: b}}}]}", "then[0].dns: dns waits for answers"),
        (
            "{if.has_fields: [a], then: [{add_host_metadata: }], else: [{dns: {type: a, fields: {a: b}}}]}",
            "else[0].dns: dns waits for answers and cannot",
        ),
    ],
)
def test_mistakes_are_reported(file: Path, processor: str, words: str) -> None:
    assert any(words in line for line in mistakes(file, processor)), mistakes(file, processor)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("192.0.2.1", Nameserver("192.0.2.1", None)),
        ("192.0.2.1:5353", Nameserver("192.0.2.1", 5353)),
        ("2001:db8::1", Nameserver("2001:db8::1", None)),
        ("[2001:db8::1]", Nameserver("2001:db8::1", None)),
        ("[2001:db8::1]:853", Nameserver("2001:db8::1", 853)),
        ("dns.example", Nameserver("dns.example", None)),
        ("dns.example:853", Nameserver("dns.example", 853)),
    ],
)
def test_a_name_server_may_have_a_port(text: str, expected: Nameserver) -> None:
    assert nameserver(text) == expected


@pytest.mark.parametrize("text", ["", ":53", "a:b", "[::1", "1:2:3:4"])
def test_what_is_no_name_server_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not a name server"):
        nameserver(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("unix:///run/docker.sock", DockerHost(socket="/run/docker.sock")),
        ("tcp://127.0.0.1:2375", DockerHost(host="127.0.0.1", port=2375)),
        ("tcp://[::1]:2375/", DockerHost(host="::1", port=2375)),
        ("https://docker.example:2376", DockerHost(host="docker.example", port=2376)),
    ],
)
def test_docker_is_at_a_socket_or_an_address(text: str, expected: DockerHost) -> None:
    assert docker_host(text) == expected
