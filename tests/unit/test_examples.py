"""examples/: pages, manifests and files of Compose. tests/e2e/test_examples.py and test_sink_examples.py run them."""

import json
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from log_shipper import VERSION
from log_shipper.config.text.units import parse_duration
from log_shipper.config.yaml.load import load
from log_shipper.shipper.autodiscover.configuring import Configurer
from log_shipper.shipper.cli.preview import Preview
from log_shipper.shipper.clock import SystemClock
from log_shipper.shipper.metrics import Metrics
from log_shipper.shipper.options.model import ShipperConfig
from log_shipper.shipper.options.providers import EveryProvider
from log_shipper.shipper.outputs.kafka import kafka_of
from log_shipper.shipper.processor.base import ProcessorContext
from log_shipper.shipper.processor.caches import Caches
from log_shipper.spark_sink.options.model import SinkConfig
from tests.builders import AGENT
from tests.containers import container
from tests.json_schemas import refusals
from tests.kubernetes_schemas import RELEASES, mistakes, needs_schemas
from tests.unit.deploy.manifests import KUBERNETES, Document, check_names, documents
from tests.unit.test_docs import broken
from tests.unit.test_operations import PROGRAMS, command_lines

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
LAKE, SIDECAR, HINTS = (EXAMPLES / name for name in ("lake-on-minio", "sidecar", "kubernetes-hints"))
IMAGE_CONFIG = ROOT / "deploy" / "container" / "shipper.yml"
SCHEMA = Path(os.environ.get("SHIPPER_CACHE", ROOT / ".cache")) / "tools" / "compose-spec.json"
NAMES = ("filebeat-to-delta", "kubernetes-hints", "lake-on-minio", "nginx-and-java", "replay", "sidecar")
MAX_README_LINES = 40
PAGES = [EXAMPLES / "README.md", *(EXAMPLES / name / "README.md" for name in NAMES)]


def document(path: Path) -> Document:
    return dict(yaml.safe_load(path.read_text()))


def test_the_list_of_examples_names_each_of_them() -> None:
    directories = sorted(path.name for path in EXAMPLES.iterdir() if path.is_dir())
    linked = re.findall(r"^\| \[([\w-]+)\]\(\1/README\.md\)", PAGES[0].read_text(), re.MULTILINE)
    assert directories == sorted(linked) == list(NAMES)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.parent.name)
def test_a_page_is_short_and_its_links_lead_somewhere(page: Path) -> None:
    assert len(page.read_text().splitlines()) <= MAX_README_LINES
    assert broken(page) == []


def commands() -> Iterator[str]:
    """Yield the commands of our programs on the pages, also those that are run in a container."""
    for page in PAGES:
        text = page.read_text().replace("\\\n", " ")
        text = re.sub(r"^(?:[A-Z_]+=\S+ )*(?:docker compose exec \w+|kubectl .* --) ", "", text, flags=re.MULTILINE)
        yield from command_lines(re.sub(r"^(?:[A-Z_]+=\S+ )+", "", text, flags=re.MULTILINE))


def test_the_commands_of_the_pages_are_ones_that_the_programs_take() -> None:
    found = sorted(set(commands()))
    assert len(found) > 10
    for command in found:
        program, *words = shlex.split(command)
        PROGRAMS[program](words)


# Kubernetes


@needs_schemas
@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("manifest", [SIDECAR / "pod.yaml", HINTS / "program.yaml"], ids=lambda path: path.name)
def test_kubernetes_accepts_the_manifest(manifest: Path, release: str) -> None:
    assert mistakes(document(manifest), release) == []


def test_the_sidecar_of_the_pod_is_that_of_deploy() -> None:
    pod = document(SIDECAR / "pod.yaml")["spec"]
    (job,) = (found for found in documents("sidecar") if found["kind"] == "Job")
    (ours,), (theirs,) = pod["initContainers"], job["spec"]["template"]["spec"]["initContainers"]
    assert ours == theirs | {"image": f"registry.example/kafka-log-shipper:{VERSION}"}
    check_names(pod)
    variables = {variable["name"]: variable.get("value", "") for variable in ours["env"]}
    assert pod["terminationGracePeriodSeconds"] > 2 * parse_duration(variables["SHIPPER_SHUTDOWN_TIMEOUT"])


def test_the_agent_of_the_hints_is_that_of_deploy_with_another_configuration() -> None:
    kustomization = document(HINTS / "kustomization.yaml")
    assert [(HINTS / base).resolve() for base in kustomization["resources"]] == [KUBERNETES / "daemonset"]
    base = document(KUBERNETES / "daemonset" / "kustomization.yaml")
    (replaced,), (generated,) = kustomization["configMapGenerator"], base["configMapGenerator"]
    assert replaced == generated | {"namespace": base["namespace"], "behavior": "replace"}


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not installed")
def test_kustomize_puts_the_configuration_of_the_hints_in_place() -> None:
    done = subprocess.run(["kubectl", "kustomize", HINTS], capture_output=True, text=True, check=True)
    made = {found["kind"]: found for found in yaml.safe_load_all(done.stdout)}
    assert made["ConfigMap"]["data"] == {"shipper.yml": (HINTS / "shipper.yml").read_text()}
    volumes = made["DaemonSet"]["spec"]["template"]["spec"]["volumes"]
    assert made["ConfigMap"]["metadata"]["name"] in [volume.get("configMap", {}).get("name") for volume in volumes]


def events_of(name: str, content: str, directory: Path) -> list[dict[str, Any]]:
    """Return the events of a container of the program whose runtime writes `content`; its annotations are read."""
    config = load(HINTS / "shipper.yml", ShipperConfig, env={"NODE_NAME": "node-1", "KAFKA_HOSTS": "kafka:9092"})
    assert (config.warnings, config.notes) == ((), ())
    (provider,) = config.autodiscover.providers
    assert isinstance(provider, EveryProvider)
    program = document(HINTS / "program.yaml")["spec"]["template"]
    assert name in [found["name"] for found in program["spec"]["containers"]]
    hints = {key.removeprefix("co.elastic.logs"): value for key, value in program["metadata"]["annotations"].items()}
    made = Configurer(provider, "provider").configure(container(name, **hints))
    assert (made.refused, made.warnings) == ([], [])
    context = ProcessorContext(AGENT, directory, Metrics(), SystemClock(), Caches(SystemClock()))
    framed = "".join(f"2026-11-21T09:30:00.1Z stdout F {line}\n" for line in content.splitlines()).encode()
    shown = [line for found in made.inputs for line in Preview(config, found, context, "-").render(framed)]
    return [json.loads(line.partition("-> ")[2]) for line in shown if "-> {" in line]


def test_a_trace_of_the_program_is_one_event_with_its_level(tmp_path: Path) -> None:
    trace = "2026-11-21 09:30:00 ERROR card 4111 1111 1111 1111\n  at Shop.order"
    first, second = events_of("shop", f"{trace}\n2026-11-21 09:30:01 INFO ready", tmp_path)
    assert first["message"] == trace.replace("4111 1111 1111 1111", "[REDACTED:credit_card]")
    assert (first["log"]["level"], second["log"]["level"]) == ("ERROR", "INFO")


def test_of_the_proxy_json_is_read_and_probes_are_left_out(tmp_path: Path) -> None:
    (event,) = events_of("proxy", '{"path":"/cart"}\n{"path":"/healthz"}', tmp_path)
    assert event["proxy"] == {"path": "/cart"}


def test_a_container_without_logs_is_not_read(tmp_path: Path) -> None:
    assert events_of("debug", "noise", tmp_path) == []


# Compose


def merged(into: Any, of: Any) -> Any:
    """Return what Compose makes of two files, as far as these have it: mappings are merged, lists appended."""
    if isinstance(into, dict):
        return into | {key: merged(into[key], value) if key in into else value for key, value in of.items()}
    return into + of if isinstance(into, list) else of


def lake() -> Document:
    (included,) = document(LAKE / "compose.yml")["include"]
    base, overrides = ((LAKE / path).resolve() for path in included["path"])
    assert (base, overrides) == (ROOT / "deploy" / "compose.yml", LAKE / "overrides.yml")
    return dict(merged(document(base), document(overrides)))


@pytest.mark.skipif(not SCHEMA.exists(), reason="no schema of Compose: run script/tools")
def test_compose_accepts_the_files() -> None:
    schema = json.loads(SCHEMA.read_text())
    for compose in (document(LAKE / "compose.yml"), lake(), document(SIDECAR / "compose.yml")):
        assert refusals(schema, compose) == []


@pytest.mark.parametrize(("program", "model"), [("shipper", ShipperConfig), ("sink", SinkConfig)])
def test_what_the_lake_mounts_exists_and_is_where_the_program_looks(program: str, model: type[ShipperConfig]) -> None:
    service = lake()["services"][program]
    mounts = [mount.split(":") for mount in service["volumes"] if "/lake-on-minio/" in mount]
    sources = {place: (ROOT / "deploy" / source).resolve() for source, place, _ in mounts}
    assert [source for source in sources.values() if not source.exists()] == []
    (place,) = (place for place in sources if place.endswith(".yml"))
    assert f'"{place}"' in (ROOT / "deploy" / "container" / "Containerfile").read_text()
    config = load(sources[place], model, env=service["environment"])
    assert (config.warnings, config.notes) == ((), ())


def test_the_lakes_agent_and_sink_have_the_same_topic_and_the_bucket_that_minio_has() -> None:
    services = lake()["services"]
    agent = load(LAKE / "shipper.yml", ShipperConfig, env=services["shipper"]["environment"])
    sink = load(LAKE / "sink.yml", SinkConfig, env=services["sink"]["environment"])
    output = kafka_of(agent)
    assert output is not None
    assert (output.hosts, (output.topic,)) == (sink.kafka.hosts, sink.kafka.topics)
    assert f"mkdir -p /data/{sink.table.path.split('/')[2]} " in services["minio"]["entrypoint"][-1]


def test_the_sidecar_of_compose_is_the_image_and_shares_the_programs_volume() -> None:
    compose = document(SIDECAR / "compose.yml")
    program, shipper = compose["services"]["shop"], compose["services"]["shipper"]
    assert shipper["image"] == f"kafka-log-shipper:{VERSION}"
    assert (SIDECAR / shipper["build"]["context"] / shipper["build"]["dockerfile"]).resolve().exists()
    environ = shipper["environment"] | {"KAFKA_HOSTS": "kafka:9092", "KAFKA_TOPIC": "logs"}
    assert load(IMAGE_CONFIG, ShipperConfig, env=environ).file_inputs[0].paths == ("/logs/*.log*",)
    mounts = {mount.split(":")[0] for service in (program, shipper) for mount in service["volumes"]}
    assert mounts == compose["volumes"].keys()
    pod = document(SIDECAR / "pod.yaml")["spec"]["containers"][0]
    assert [word.replace("$$", "$") for word in program["command"]] == pod["command"]
    assert program["depends_on"] == ["shipper"]
