"""Hints that ask for more than what the events of their container are: each is left out with a warning that names it,
and the container is read with its other hints."""

import dataclasses
import json
from pathlib import Path
from random import Random
from typing import Any

import pytest

from log_shipper.config.yaml.schema import NamedItems, leaves, options
from log_shipper.shipper.autodiscover.allowed_hints import (
    ALLOWED_INPUTS,
    ALLOWED_OF_INPUT,
    ALLOWED_PARSERS,
    ALLOWED_PROCESSORS,
)
from log_shipper.shipper.autodiscover.configuring import Configured
from log_shipper.shipper.options.model import INPUT_KINDS, InputConfig
from log_shipper.shipper.options.parsers import PARSERS
from log_shipper.shipper.options.processors import PROCESSORS, Branch
from tests.containers import ID, UID, Rules, container

HINTS = "type: kubernetes\nhints.enabled: true\n"
OLDER_HINTS = (
    HINTS + "hints.default_config: {type: container, paths: ['/var/log/containers/*-${data.container.id}.log']}\n"
)
SECRETS = {"env": "s3cret-env", "KAFKA_PASSWORD": "s3cret-kafka", "path.data": "s3cret-path"}
OWN_LOG = f"/var/log/pods/default_web-1_{UID}/nginx/0.log"
OWN_PATH = "/var/log/containers/*-${data.container.id}.log"
TOKEN = "/var/run/secrets/kubernetes.io/serviceaccount/token"
KUBECONFIG = {"add_kubernetes_metadata": {"kube_config": OWN_LOG}}
HARMLESS = {"/exclude_lines": "^DBG", "/processors.add_tags.tags": "own"}

# Of processors, as they are written below `processors.`.
HOSTILE_PROCESSORS: dict[str, dict[str, str]] = {
    "a kubeconfig that the pod writes": {"add_kubernetes_metadata.kube_config": OWN_LOG},
    "a kubeconfig of the host": {"add_kubernetes_metadata.kube_config": "/etc/kubernetes/admin.conf"},
    "a kubeconfig by a numbered processor": {"1.add_kubernetes_metadata.kube_config": OWN_LOG},
    "a kubeconfig in JSON": {"add_kubernetes_metadata": json.dumps({"kube_config": OWN_LOG})},
    "a kubeconfig in a branch": {
        "1.if.equals.a": "b",
        "1.then.0.add_fields.fields.a": "b",
        "1.else.0.add_kubernetes_metadata.kube_config": OWN_LOG,
    },
    "a kubeconfig in a branch of a branch": {
        "branch": json.dumps(
            {"if": {"equals": {"a": "b"}}, "then": [{"if": {"equals": {"a": "b"}}, "then": KUBECONFIG}]}
        )
    },
    "a kubeconfig behind a condition": {
        "add_kubernetes_metadata.when.has_fields": "message",
        "add_kubernetes_metadata.kube_config": OWN_LOG,
    },
    "the cluster's pods": {"add_kubernetes_metadata.scope": "cluster"},
    "another node's pods": {"add_kubernetes_metadata.node": "node-2"},
    "another node's pods by the older name": {"add_kubernetes_metadata.host": "node-2"},
    "another namespace's pods": {"add_kubernetes_metadata.namespace": "kube-system"},
    "annotations of a pod": {"add_kubernetes_metadata.include_annotations": "vault"},
    "secrets of nodes": {"add_kubernetes_metadata.add_resource_metadata.node.include_annotations": "x"},
    "another root": {"add_kubernetes_metadata.hostfs": "/proc/1/root"},
    "a directory of logs": {"add_kubernetes_metadata.matchers.0.logs_path.logs_path": "/"},
    "the agent's account": {"add_kubernetes_metadata.in_cluster": "true"},
    "events that wait for ever": {"add_kubernetes_metadata.wait_for_metadata": "87600h"},
    "Docker at an address": {"add_docker_metadata.host": "tcp://198.51.100.7:2375"},
    "Docker at a socket": {
        "add_docker_metadata.host": f"unix:///var/lib/docker/containers/{ID}/mounts/shm/docker.sock"
    },
    "a certificate for Docker": {
        "add_docker_metadata.host": "tcp://198.51.100.7:2376",
        "add_docker_metadata.ssl.certificate": "/etc/shipper/client.crt",
        "add_docker_metadata.ssl.key": "/etc/shipper/client.key",
    },
    "an authority for Docker": {"add_docker_metadata.ssl.certificate_authority": OWN_LOG},
    "Docker's files in another root": {"add_docker_metadata.hostfs": "/proc/1/root"},
    "labels of another container": {"add_docker_metadata.match_fields": "message"},
    "a container of a process": {"add_docker_metadata.match_pids": "pid"},
    "a cloud's service at an address": {"add_cloud_metadata.host": "198.51.100.7:80"},
    "an authority for the cloud": {"add_cloud_metadata.ssl.certificate_authorities": OWN_LOG},
    "no verification for the cloud": {"add_cloud_metadata.ssl.verification_mode": "none"},
    "the machine's cloud": {"add_cloud_metadata.providers": "aws"},
    "name servers": {"dns.type": "reverse", "dns.fields.ip": "name", "dns.nameservers": "198.51.100.7:53"},
    "names that carry data away": {"dns.type": "A", "dns.fields.message": "name"},
    "name servers by a number": {"7.dns.type": "TXT", "7.dns.fields.a": "b", "7.dns.nameservers.0": "198.51.100.7"},
    "the command line of a process of the host": {"add_process_metadata.match_pids": "pid"},
    "the environment of a process of the host": {
        "add_process_metadata.match_pids": "pid",
        "add_process_metadata.restricted_fields": "true",
        "add_process_metadata.include_fields": "process.env",
    },
    "processes of another root": {"add_process_metadata.host_path": f"/var/lib/kubelet/pods/{UID}/volumes/x"},
    "a control group's path": {"add_process_metadata.cgroup_prefixes": "/"},
    "the host's addresses": {"add_host_metadata.netinfo.enabled": "true"},
    "the host's metadata for each event": {"add_host_metadata.cache.ttl": "-1s"},
    "a cache of the configuration": {
        "cache.backend.memory.id": "users",
        "cache.get.key_field": "a",
        "cache.get.target_field": "b",
    },
    "a cache's file": {"cache.backend.file.id": "x", "cache.put.key_field": "a", "cache.put.value_field": "b"},
    "a cache's file elsewhere": {
        "cache.backend.file.id": "../../etc/cron.d/x",
        "cache.backend.file.write_interval": "1s",
    },
    "a script": {"script.lang": "javascript", "script.source": "function process(event) {}"},
    "a script's file": {"script.lang": "javascript", "script.file": "/etc/shadow"},
    "scripts of a directory": {"script.files": "/etc/*.js"},
    "a translation by the directory server": {"translate_ldap_attribute.ldap_address": "ldap://198.51.100.7"},
    "a processor of another agent": {"add_nomad_metadata.address": "http://198.51.100.7"},
    "one that no one knows": {"exec.command": "/bin/sh"},
    "a value that decompresses to any size": {
        "decompress_gzip_field.field.from": "a",
        "decompress_gzip_field.max_bytes": "100TiB",
    },
    "limits that are never forgotten": {
        "rate_limit.limit": "1/s",
        "rate_limit.algorithm.token_bucket.gc.num_calls": "9000000000000000000",
    },
    "the agent's environment": {"add_fields.fields.a": "${env}"},
    "the keystore": {"add_fields.fields.a": "${KAFKA_PASSWORD}"},
    "the keystore with a default": {"add_fields.fields.a": "${KAFKA_PASSWORD:none}"},
    "the keystore in a default": {"add_fields.fields.a": "${data.unknown:${KAFKA_PASSWORD}}"},
    "the keystore in JSON": {"add_fields": json.dumps({"fields": {"a": ["${KAFKA_PASSWORD}"]}})},
    "an option of the configuration": {"add_fields.fields.a": "${path.data}"},
    "a secret of the cluster": {"add_fields.fields.a": "${kubernetes.default.database.password}"},
    "the keystore in a condition": {"drop_event.when.equals.a": "${KAFKA_PASSWORD}"},
}
# Of `raw`: options that are left out of an input whose files are the container's own.
HOSTILE_RAW_OPTIONS: dict[str, dict[str, object]] = {
    "a kubeconfig": {"processors": [KUBECONFIG]},
    "a kubeconfig as a single processor": {"processors": KUBECONFIG},
    "a kubeconfig by an index": {"processors.0.add_kubernetes_metadata.kube_config": OWN_LOG},
    "a kubeconfig in a branch": {"processors": [{"if": {"equals": {"a": 1}}, "then": KUBECONFIG, "else": []}]},
    "deleted files": {"delete.enabled": True},
    "deleted files without waiting": {"delete": {"enabled": True, "grace_period": 0}},
    "another input's positions": {"take_over": {"enabled": True, "from_ids": ["audit"]}},
    "a marker file": {"file_identity": {"inode_marker": {"path": "/etc/shadow"}}},
    "a marker file with dots": {"file_identity.inode_marker.path": "/etc/shadow"},
    "scans without a pause": {"prospector": {"scanner": {"check_interval": "1ms"}}},
    "deleted files that fill the disk": {"close.removed.max_bytes": 0, "close.on_state_change.removed": False},
    "messages of any size": {"message_max_bytes": "100TiB"},
    "a stop that waits": {"read_until_eof": {"enabled": True, "timeout": "24h"}},
    "a fingerprint of any length": {"prospector.scanner.fingerprint.length": "1TiB"},
    "names of the host's users": {"include_file_owner_name": True},
}
# Of `raw`: inputs that are left out as a whole.
HOSTILE_RAW_INPUTS: dict[str, dict[str, object]] = {
    "a file of the host": {"type": "log", "paths": ["/etc/shadow"]},
    "the token of the agent": {"type": "log", "paths": [TOKEN]},
    "the agent's own files": {"type": "filestream", "id": "x", "paths": ["/var/lib/shipper/*"]},
    "all containers": {"type": "container", "paths": ["/var/log/containers/*.log"]},
    "the way up": {"type": "log", "paths": [f"/var/log/containers/{ID}/../../../../etc/shadow"]},
    "its own files and others": {"type": "log", "paths": [OWN_PATH, "/var/log/syslog"]},
    "a volume": {"type": "log", "paths": [f"/var/lib/kubelet/pods/{UID}/volumes/x/app.log"]},
    "one of several characters": {"type": "log", "paths": [f"/var/log/containers/[a{ID}]*"]},
    "Docker's containers": {"type": "docker", "containers": {"ids": ["*"]}},
    "containers in another directory": {"type": "docker", "containers": {"ids": [ID], "path": "/etc"}},
    "a topic": {"type": "kafka", "hosts": ["198.51.100.7:9092"], "topics": ["x"], "group_id": "g"},
    "the journal": {"type": "journald", "id": "j"},
    "a port": {"type": "tcp", "host": "0.0.0.0:5140"},
    "a socket": {"type": "unix", "path": "/var/run/docker.sock"},
    "datagrams": {"type": "udp", "host": "0.0.0.0:514"},
    "requests": {"type": "http", "listen_address": "0.0.0.0", "ssl.key": "/etc/shipper/client.key"},
    "standard input": {"type": "stdin"},
    "what no one knows": {"type": "exec", "command": "/bin/sh"},
    "a variable for a type": {"type": "${env}", "paths": [OWN_PATH]},
    "the keystore in a path": {"type": "log", "paths": [OWN_PATH + "${KAFKA_PASSWORD}"]},
}
HOSTILE_HINTS: dict[str, dict[str, str]] = {
    "the keystore in a list": {"/include_lines": "^E, ${KAFKA_PASSWORD}"},
    "the keystore in a pattern": {"/multiline.pattern": "${KAFKA_PASSWORD}", "/multiline.negate": "true"},
    "the keystore in a key": {"/json.message_key": "${env}"},
    "the keystore in a list of JSON": {"/include_lines": '["${KAFKA_PASSWORD}"]'},
    "a module": {"/module": "system", "/fileset": "auth"},
    "an output": {"/output.kafka.hosts": "198.51.100.7:9092"},
    "a path": {"/paths": "/etc/shadow"},
    "a kubeconfig": {"/kube_config": OWN_LOG},
    "a processor without a name": {"/processors.1": json.dumps({"add_kubernetes_metadata.kube_config": OWN_LOG})},
    "a topic": {"/topic": "other"},
}


@pytest.fixture
def rules(tmp_path: Path) -> Rules:
    return Rules(tmp_path)


def configured(rules: Rules, hints: dict[str, str], yaml: str = HINTS) -> Configured:
    made = rules.configurer(yaml, SECRETS).configure(container(**hints))
    assert "s3cret" not in repr(made)
    return made


def check_left_out(rules: Rules, hints: dict[str, str], yaml: str = HINTS) -> None:
    """Check that the hints change nothing, that harmless ones still apply, and that a warning names one of them."""
    made = configured(rules, HARMLESS | hints, yaml)
    assert (made.inputs, made.refused) == (configured(rules, HARMLESS, yaml).inputs, [])
    assert len(made.inputs) == 1
    (warning,) = {words.partition(": ")[0] for words in made.warnings} & {
        f"annotation co.elastic.logs{key}" for key in hints
    }
    assert any(
        words.startswith(warning) and ("allowed: " in words or "known: " in words or "modules" in words)
        for words in made.warnings
    )


@pytest.mark.parametrize("yaml", [HINTS, OLDER_HINTS], ids=["filestream", "container"])
@pytest.mark.parametrize("prefix", ["/", ".nginx/"])
def test_processors_that_ask_for_more_are_left_out(
    rules: Rules, prefix: str, yaml: str, subtests: pytest.Subtests
) -> None:
    for name, processor in HOSTILE_PROCESSORS.items():
        with subtests.test(name):
            check_left_out(rules, {f"{prefix}processors.{option}": value for option, value in processor.items()}, yaml)


@pytest.mark.parametrize("yaml", [HINTS, OLDER_HINTS], ids=["filestream", "container"])
def test_numbered_processors_that_ask_for_more_are_left_out(rules: Rules, yaml: str, subtests: pytest.Subtests) -> None:
    expected = configured(rules, HARMLESS, yaml).inputs
    for name, processor in HOSTILE_PROCESSORS.items():
        with subtests.test(name):
            hints = {f"/2.processors.{option}": value for option, value in processor.items()}
            made = configured(rules, HARMLESS | hints, yaml)
            numbered, others = made.inputs
            assert (made.refused, numbered.processors) == ([], ())
            assert [others] == [dataclasses.replace(item, id=others.id) for item in expected]
            assert any(words.startswith("annotation co.elastic.logs/2.processors.") for words in made.warnings)


@pytest.mark.parametrize("hints", HOSTILE_HINTS.values(), ids=HOSTILE_HINTS)
def test_a_hint_that_asks_for_more_is_left_out(rules: Rules, hints: dict[str, str]) -> None:
    made = configured(rules, hints)
    assert (made.inputs, made.refused) == (configured(rules, {}).inputs, [])
    assert len(made.inputs) == 1
    assert len(made.warnings) == len({key for key in hints if key != "/multiline.negate"})


@pytest.mark.parametrize("options", HOSTILE_RAW_OPTIONS.values(), ids=HOSTILE_RAW_OPTIONS)
def test_an_option_of_raw_that_asks_for_more_is_left_out(rules: Rules, options: dict[str, object]) -> None:
    harmless = {"type": "filestream", "id": "x", "paths": [OWN_PATH], "prospector.scanner.symlinks": True}
    made = configured(rules, {"/raw": json.dumps({**harmless, **options})})
    assert (made.inputs, made.refused) == (configured(rules, {"/raw": json.dumps(harmless)}).inputs, [])
    assert [item.owned_by for item in made.inputs] == [(ID, UID)]
    assert all(words.startswith("annotation co.elastic.logs/raw: a hint must not ") for words in made.warnings)
    assert all("allowed: " in words for words in made.warnings)
    assert made.warnings


@pytest.mark.parametrize("raw", HOSTILE_RAW_INPUTS.values(), ids=HOSTILE_RAW_INPUTS)
def test_an_input_of_raw_that_asks_for_more_is_left_out_and_the_container_read_by_its_other_hints(
    rules: Rules, raw: dict[str, object]
) -> None:
    check = configured(rules, HARMLESS | {"/raw": json.dumps([raw])})
    assert (check.inputs, check.refused) == (configured(rules, HARMLESS).inputs, [])
    assert check.warnings[0].startswith("annotation co.elastic.logs/raw: a hint must not ")
    own = {"type": "log", "paths": [OWN_PATH]}
    if "${" not in str({**raw, "paths": ""}) + str(raw.get("paths", "")).replace(OWN_PATH, ""):
        both = configured(rules, {"/raw": json.dumps([raw, own])})
        assert [item.paths for item in both.inputs] == [(f"/var/log/containers/*-{ID}.log",)]


def test_what_a_label_contains_is_no_variable_of_a_hint(rules: Rules) -> None:
    odd = container(**{"/processors.add_fields.fields.a": "${data.kubernetes.labels.a}{KAFKA_PASSWORD}"})
    data = {**odd.data, "kubernetes": {"labels": {"a": "$"}}}
    made = rules.configurer(HINTS, SECRETS).configure(dataclasses.replace(odd, data=data))
    assert "'${KAFKA_PASSWORD}'" in repr(made.inputs[0].processors)


def test_hundreds_of_options_are_refused_one_by_one(rules: Rules) -> None:
    """Every option of every processor that is not listed, whatever it is."""
    refused = [
        f"{name}.{leaf}"
        for name, model in PROCESSORS.models.items()
        for leaf in leaves(model)
        if not is_allowed(leaf, (*ALLOWED_PROCESSORS[name], "when") if name in ALLOWED_PROCESSORS else ())
    ]
    assert len(refused) >= 53
    for option in refused:
        check_left_out(rules, {f"/processors.{option}": "1"})


def is_allowed(leaf: str, allowed: tuple[str, ...]) -> bool:
    return any(leaf == name or leaf.startswith(f"{name}.") for name in allowed)


# What a hint may not use or set: a new option belongs here, or into the list of what is allowed.
NEVER = {
    "processor": {
        *("add_cloud_metadata", "add_docker_metadata", "add_host_metadata", "add_kubernetes_metadata"),
        *("add_formatted_index", "add_process_metadata", "cache", "dns"),
        *("decompress_gzip_field.max_bytes", "rate_limit.algorithm.token_bucket.gc.num_calls"),
    },
    "parser": set[str](),
}


@pytest.mark.parametrize(
    ("named", "allowed"), [(PROCESSORS, ALLOWED_PROCESSORS), (PARSERS, ALLOWED_PARSERS)], ids=["processors", "parsers"]
)
def test_of_every_option_is_decided_whether_a_hint_may_set_it(
    named: NamedItems, allowed: dict[str, tuple[str, ...]]
) -> None:
    undecided = set()
    for name, model in named.models.items():
        own = {f"{name}.{leaf}" for leaf in leaves(model) if not is_allowed(leaf, (*allowed.get(name, ()), "when"))}
        undecided |= own if name in allowed else {name}
    assert undecided == NEVER[named.what]
    for name, permitted in allowed.items():
        assert [option for option in permitted if not is_option(option, leaves(named.models[name]))] == []


def is_option(name: str, names: tuple[str, ...]) -> bool:
    return any(leaf == name or leaf.startswith(f"{name}.") for leaf in names)


def test_what_a_hint_may_set_of_an_input_are_options_of_one() -> None:
    known = {leaf for name in ALLOWED_INPUTS for leaf in leaves(INPUT_KINDS.models[name])}
    assert [name for name in ALLOWED_OF_INPUT if not is_option(name, tuple(known))] == []


PLAIN = InputConfig(id="plain", paths=("x",))
PREFIXES = ("/", ".nginx/", "/1.", ".nginx/2.")
VALUES = (
    *("1", "true", "a", "/etc/shadow", OWN_LOG, "https://198.51.100.7", "${env}", "${KAFKA_PASSWORD:x}"),
    *("{}", '{"a": 1}'),
)


def hostile_hints(random: Random) -> dict[str, str]:
    """Hints of any options of processors, parsers and inputs, in any of the ways in which they may be written."""
    written = [f"{name}.{leaf}" for name, model in PROCESSORS.models.items() for leaf in leaves(model)]
    hints = {}
    for _ in range(random.randrange(1, 6)):
        option, number = random.choice(written), random.choice(("", f"{random.randrange(3)}."))
        name, _, rest = option.partition(".")
        value: object = random.choice(VALUES)
        match random.randrange(4):
            case 0:
                hints[f"{random.choice(PREFIXES)}processors.{number}{option}"] = str(value)
            case 1:
                hints[f"{random.choice(PREFIXES)}processors.{number}{name}"] = json.dumps({rest: value})
            case 2:
                then = random.choice(([{name: {rest: value}}], {option: value}))
                branch = json.dumps({"if": {"has_fields": ["a"]}, "then": then})
                hints[f"{random.choice(PREFIXES)}processors.x"] = branch
            case _:
                kind = random.choice(list(INPUT_KINDS.models))
                leaf = random.choice(leaves(INPUT_KINDS.models[kind]))
                raw = {"type": kind, "id": "x", "paths": [OWN_PATH], leaf: value, "processors": [{name: {rest: value}}]}
                hints["/raw"] = json.dumps(raw)
    return hints


def check_harmless(item: Any) -> None:
    """Every option that a hint may not set has its default."""
    if isinstance(item, Branch):
        for inner in (*item.then, *item.otherwise):
            check_harmless(inner)
        return
    name = getattr(item, "name", "")
    assert name in ALLOWED_PROCESSORS, f"{item}"
    model: Any = type(item)
    for option in options(model):
        key, allowed = option.keys[0], (*ALLOWED_PROCESSORS[name], "when")
        if not is_allowed(key, allowed) and not is_option(key, allowed):
            assert getattr(item, option.name) == option.default, f"{item}: {option.name}"


@pytest.mark.parametrize("first", range(0, 500, 100))
def test_no_combination_of_hints_sets_more_than_is_allowed(rules: Rules, first: int) -> None:
    for seed in range(first, first + 100):
        hints = hostile_hints(Random(seed))
        for item in configured(rules, hints).inputs:
            for processor in item.processors:
                check_harmless(processor)
            assert item.type in ALLOWED_INPUTS, f"seed {seed}: {hints}"
            assert item.owned_by == (ID, UID) or item.id.startswith("container-logs-")
            for option in ("delete", "take_over", "file_identity", "close", "read_until_eof", "message_max_bytes"):
                assert getattr(item, option) == getattr(PLAIN, option), f"seed {seed}: {hints}"
