"""The rules of the code, checked against the code."""

import ast
import graphlib
import re
import shutil
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SHIPPED = ["config", "registry", "runtime", "shipper", "spark_sink"]  # the packages of log_shipper
PRODUCT = [*SHIPPED, "demo", "bench", "deploy"]

MAX_FILE_LINES = 350
MAX_FUNCTION_LINES = 50
MAX_PARAMETERS = 6
MAX_IMPORTS = 16  # modules of ours
# They compose a whole program, or list all members of a family.
IMPORT_EVERYTHING = {
    "shipper/options/model.py",
    "shipper/agent/app.py",
    "shipper/monitor/composition.py",
    "shipper/cli/preview.py",
    "shipper/inputs/files/crawler.py",
    "spark_sink/commands.py",
    "spark_sink/job.py",
}

# What a package may import, of ours; names are those below log_shipper. What is not named here may import anything.
MAY_IMPORT: dict[str, set[str]] = {
    "config": set(),
    "runtime": {"config"},
    "registry": {"runtime.disk", "runtime.disk_errors", "runtime.locking", "runtime.logs", "runtime.monitor"},
    "shipper": {"config", "registry", "runtime"},
    "spark_sink": {"config", "runtime"},
}

# Within the shared room: Kafka's clients and the log have the options that shipper and sink share.
MAY_IMPORT_WITHIN_RUNTIME: dict[str, set[str]] = {
    "disk_errors": set(),
    "disk": {"disk_errors"},
    "locking": {"disk", "disk_errors"},
    "logs": set(),
    "systemd": set(),
    "sockets": set(),
    "http": {"sockets"},
    "monitor": {"disk", "disk_errors", "logs", "sockets", "http"},
    "kafka": set(),
}

# The same within the shipper. The data flows to the right, and no import points to the left. All know the options.
VALUES = {"backoff", "clock", "errors", "event", "metrics", "formats"}
MAY_IMPORT_WITHIN_SHIPPER: dict[str, set[str]] = {
    "options": VALUES | {"reader", "parsers"},
    "append_file": set(),
    "backoff": set(),
    "clock": set(),
    "errors": set(),
    "event": set(),
    "metrics": set(),
    "tls_texts": set(),
    "wake": set(),
    "librdkafka": {"errors"},
    "formats": {"errors", "event"},
    # What a machine's services know of containers: for the processors of metadata.
    "cloud": {"clock", "errors", "event", "formats", "tls_texts"},
    "docker": {"backoff", "clock", "errors", "formats", "tls_texts"},
    "kubernetes": {"backoff", "clock", "errors", "event", "formats", "tls_texts"},
    "reader": VALUES,
    "parsers": VALUES | {"reader"},
    "output": VALUES | {"append_file", "librdkafka"},
    "processor": VALUES | {"cloud", "docker", "kubernetes"},
    "processors": VALUES | {"cloud", "docker", "kubernetes", "processor"},
    "pipeline": VALUES | {"output.base", "append_file"},
    # The ledger is the inputs' side of the pipeline.
    "letters": VALUES | {"append_file", "pipeline.dead_letter"},
    "inputs": VALUES | {"letters", "reader", "parsers", "pipeline.acks", "librdkafka", "tls_texts"},
    # What the configuration selects, made of the parts above.
    "tap": VALUES | {"output.base"},
    "outputs": VALUES | {"append_file", "output", "processor", "inputs.kafka.options"},
    "autodiscover": VALUES | {"docker", "kubernetes", "processor", "wake"},
    "agent": VALUES | {"autodiscover", "output", "outputs", "pipeline", "processor", "inputs", "wake"},
    # What commands and monitor do with an agent, its registry and its files.
    "positions": VALUES | {"reader", "inputs"},
    "monitor": VALUES | {"agent", "output", "pipeline", "inputs", "tap"},
    "top": VALUES | {"monitor"},
}
# They know all of the shipper, or work with the registry.
KNOWS_THE_REGISTRY = {"inputs", "agent", "positions", "monitor"}

# The same within the configuration, an engine that knows no option. Its modules at the top level show any model.
MAY_IMPORT_WITHIN_CONFIG: dict[str, set[str]] = {
    "text": set(),
    "yaml": {"text"},
}

# And within the sink, where all know the options. Modules at its top level that are not named are the composition (job,
# commands, __main__).
MAY_IMPORT_WITHIN_SINK: dict[str, set[str]] = {
    "options": set(),
    "errors": set(),
    "logs": set(),
    "service": set(),
    "platform": {"errors"},
    "spark_session": {"errors", "logs", "platform"},
    "records": {"errors", "platform"},
    "rows": {"errors", "records.schema"},
    "storage": {"errors", "platform", "records"},
    "kafka": {"errors", "platform"},
    "views": {"errors", "logs", "platform", "records", "storage"},
    "landing": {"errors", "platform", "records", "rows", "storage", "kafka"},
    "monitor": {"errors", "logs", "platform.running_tasks", "kafka", "landing", "storage.table_size", "views.progress"},
    # Without what needs pyspark.
    "search": {"errors", "platform.stop_signals", "records.schema", "storage.locations", "storage.power_cuts"},
    "maintenance": {
        "errors",
        "logs",
        "spark_session",
        "platform",
        "rows",
        "storage",
        "kafka",
        "landing",
    },
}
# The doors to Java: the session, and Spark's planner. No other module uses PySpark's private members.
JAVA_MEMBERS = {"_jvm", "_jsparkSession", "_jdf", "_jsq", "_jsc"}
JAVA_DOORS = {"spark_sink/platform/jvm.py", "spark_sink/views/catalyst.py"}
# A command of its own that runs the whole sink, so that Java learns which classes it needs, and the topic that it
# reads.
SINK_PROGRAMS = {"spark_sink/platform/class_training.py", "spark_sink/platform/training_topic.py"}

# And within the input of files: finding files, knowing which is which, reading them, opening and closing them. The
# crawler at its top level connects all of it.
MAY_IMPORT_WITHIN_FILES: dict[str, set[str]] = {
    "discovery": set(),
    "identity": {"discovery"},
    "reading": {"discovery", "identity"},
    "lifecycle": {"discovery", "identity", "reading"},
}

# Outermost frames: an error that gets here was not foreseen, and must be reported.
BROAD_EXCEPTS = {
    (
        "spark_sink/search/ui/stream.py",
        "_run",
    ): "a thread that answers the page: the reader is waiting, and must be told that no more will come",
    (
        "runtime/logs/recent.py",
        "emit",
    ): "the handler's call: a message that cannot be made into text is reported, and must not raise where it is logged",
    (
        "runtime/logs/folding_handler.py",
        "_is_repeated",
    ): "the same: the arguments of a message are any objects, and the handlers behind this one report what they raise",
    (
        "registry/registrar.py",
        "_run",
    ): "the registrar's thread: its callers wait for a save, and must learn that none will come",
    (
        "shipper/inputs/kafka/member.py",
        "_run",
    ): "the thread of a consumer group's member: it begins again, and the problem is shown",
    (
        "shipper/output/background.py",
        "_run",
    ): "the thread of a call that blocks: its error is raised where the call is awaited",
    (
        "shipper/pipeline/disk_queue/writer.py",
        "_run",
    ): "the writer's thread: what waits to be written would wait without a word",
    (
        "runtime/monitor/connection.py",
        "_respond",
    ): "the thread of a client: an answer that cannot be made is reported, and answered as such",
    (
        "shipper/monitor/sampler.py",
        "_run",
    ): "the sampler's thread: what is shown would stop without a word",
    (
        "shipper/kubernetes/watcher.py",
        "_run",
    ): "the thread of a watch: what it keeps would be out of date without a word",
    (
        "shipper/autodiscover/reporter.py",
        "_configured",
    ): "the thread of a watch: annotations are anyone's, and one pod's must not end the watch of all",
    (
        "shipper/inputs/sockets/receiver.py",
        "_run",
    ): "the thread of an input that listens: it would be deaf without a word",
    (
        "spark_sink/monitor/liveness.py",
        "_run",
    ): "the thread that reports to the watchdog: without it a sink that works would be taken for one that hangs",
    (
        "shipper/agent/config_reader.py",
        "_run",
    ): "the configuration's thread: an agent that runs must not end by what a user writes, and must report it",
}

VAGUE_NAMES = {"utils", "util", "helpers", "helper", "common", "manager", "misc"}


@cache
def nodes(path: Path) -> list[ast.AST]:
    """Return the syntax tree of a module, flat, once for all tests."""
    return list(ast.walk(ast.parse(path.read_text(encoding="utf-8"), str(path))))


def modules(*packages: str) -> list[Path]:
    return sorted(path for package in packages for path in (ROOT / package).rglob("*.py"))


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


@cache
def imports(path: Path) -> list[str]:
    """Return the imported modules, with the names taken from them: `from log_shipper.shipper.output import base`
    counts as shipper.output.base."""
    imported: list[str] = []
    for node in nodes(path):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{name_of(path)}: a relative import"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        assert {name.partition(".")[0] for name in names}.isdisjoint(SHIPPED), f"{name_of(path)}: {names}"
        imported += [name.removeprefix("log_shipper.") for name in names]
    return imported


def covers(allowed: str, module: str) -> bool:
    return module == allowed or module.startswith(f"{allowed}.")


@pytest.mark.parametrize("package", MAY_IMPORT)
def test_packages_import_only_from_lower_ranks(package: str) -> None:
    wrong = [
        f"{name_of(path)} imports {module}"
        for path in modules(package)
        for module in imports(path)
        if module.partition(".")[0] in {*PRODUCT, "tests"}
        if not any(covers(allowed, module) for allowed in (package, *MAY_IMPORT[package]))
    ]
    assert wrong == []


@pytest.mark.parametrize("part", MAY_IMPORT_WITHIN_RUNTIME)
def test_within_the_shared_room_imports_point_to_lower_ranks(part: str) -> None:
    files = modules(f"runtime/{part}") or [ROOT / "runtime" / f"{part}.py"]
    options = [name_of(path) for path in files for module in imports(path) if covers("config", module)]
    assert imports_of_higher_ranks("runtime", part, MAY_IMPORT_WITHIN_RUNTIME[part]) == []
    assert options == [] or part in ("kafka", "logs")


def imports_of_higher_ranks(package: str, part: str, may_import: set[str]) -> list[str]:
    folder = package.replace(".", "/")
    files = modules(f"{folder}/{part}") or [ROOT / folder / f"{part}.py"]
    allowed = [f"{package}.{name}" for name in (part, *may_import)]
    return [
        f"{name_of(path)} imports {module}"
        for path in files
        for module in imports(path)
        if covers(package, module) and not any(covers(name, module) for name in allowed)
    ]


@pytest.mark.parametrize("part", MAY_IMPORT_WITHIN_SHIPPER)
def test_within_the_shipper_imports_point_to_lower_ranks(part: str) -> None:
    assert imports_of_higher_ranks("shipper", part, {"options", *MAY_IMPORT_WITHIN_SHIPPER[part]}) == []


@pytest.mark.parametrize("part", MAY_IMPORT_WITHIN_CONFIG)
def test_within_the_configuration_imports_point_to_lower_ranks(part: str) -> None:
    assert imports_of_higher_ranks("config", part, MAY_IMPORT_WITHIN_CONFIG[part]) == []


@pytest.mark.parametrize("part", MAY_IMPORT_WITHIN_FILES)
def test_within_the_files_imports_point_to_lower_ranks(part: str) -> None:
    assert imports_of_higher_ranks("shipper.inputs.files", part, MAY_IMPORT_WITHIN_FILES[part]) == []


def module_name(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


@pytest.mark.parametrize("package", SHIPPED)
def test_modules_do_not_import_each_other_in_a_circle(package: str) -> None:
    paths = {module_name(path): path for path in modules(package)}
    graph = {
        name: {
            imported if imported in paths else imported.rpartition(".")[0]
            for imported in imports(path)
            if covers(package, imported)
        }
        for name, path in paths.items()
    }
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as error:
        pytest.fail(" imports ".join(reversed(error.args[1])))


@pytest.mark.parametrize("part", MAY_IMPORT_WITHIN_SINK)
def test_within_the_sink_imports_only_point_to_lower_ranks(part: str) -> None:
    wrong = imports_of_higher_ranks("spark_sink", part, {"options", *MAY_IMPORT_WITHIN_SINK[part]})
    assert [problem for problem in wrong if problem.partition(" ")[0] not in SINK_PROGRAMS] == []


@pytest.mark.parametrize("part", sorted(MAY_IMPORT_WITHIN_SHIPPER.keys() - KNOWS_THE_REGISTRY))
def test_nothing_to_the_right_of_the_inputs_knows_the_registry(part: str) -> None:
    files = modules(f"shipper/{part}") or [ROOT / "shipper" / f"{part}.py"]
    importing = [name_of(path) for path in files for module in imports(path) if covers("registry", module)]
    assert importing == []


def test_private_java_has_two_doors_and_delta_has_none() -> None:
    members = {
        name_of(path)
        for path in modules("spark_sink", "bench")
        for node in nodes(path)
        if isinstance(node, ast.Attribute) and node.attr in JAVA_MEMBERS
    }
    names = {
        name_of(path)
        for path in modules("spark_sink", "bench")
        for node in nodes(path)
        if isinstance(node, ast.Constant) and str(node.value).startswith(("org.apache.spark.sql.delta", "io.delta.p"))
    }
    assert members <= JAVA_DOORS
    assert names == {"spark_sink/platform/session.py"}, "the session names Delta's catalog"


def test_the_product_has_no_fakes_and_imports_nothing_of_the_tests() -> None:
    packages = [package for package in PRODUCT if package not in ("demo", "bench")]
    fakes = [name_of(path) for path in modules(*packages) if re.match("(testing|fake|mock)", path.stem)]
    importing = [name_of(path) for path in modules(*packages) for module in imports(path) if covers("tests", module)]
    assert (fakes, importing) == ([], [])


def test_a_file_can_be_read_in_one_go() -> None:
    lines = {name_of(path): len(path.read_text().splitlines()) for path in modules(*PRODUCT)}
    assert {name: count for name, count in lines.items() if count > MAX_FILE_LINES} == {}


def test_a_function_fits_on_a_screen() -> None:
    long = [
        f"{name_of(path)}: {node.name} has {length} lines"
        for path in modules(*PRODUCT)
        for node in nodes(path)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (length := (node.end_lineno or 0) - node.lineno + 1) > MAX_FUNCTION_LINES
    ]
    assert long == []


def test_a_signature_can_be_remembered() -> None:
    """More are a frozen dataclass of what belongs together."""
    long = []
    for path in modules(*PRODUCT):
        for node in nodes(path):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                given = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
                count = len([argument for argument in given if argument.arg not in ("self", "cls")])
                if count > MAX_PARAMETERS:
                    long.append(f"{name_of(path)}: {node.name} has {count} parameters")
    assert long == []


def test_a_module_knows_few_others() -> None:
    counts = {
        name_of(path): len(
            {module.rpartition(".")[0] for module in imports(path) if module.partition(".")[0] in PRODUCT}
        )
        for path in modules(*PRODUCT)
    }
    assert {name for name, count in counts.items() if count > MAX_IMPORTS} == IMPORT_EVERYTHING


def test_the_formatter_formats_everything() -> None:
    """What it makes ugly is too wide in thought."""
    switches = re.compile("fmt: *(" + "skip|off)")  # in two pieces, or this file would contain it
    assert [name_of(path) for path in modules(*PRODUCT, "tests") if switches.search(path.read_text())] == []


def broad_excepts(path: Path) -> Iterator[tuple[str, str]]:
    for function in nodes(path):
        if not isinstance(function, ast.FunctionDef):
            continue
        for node in ast.walk(function):
            if isinstance(node, ast.ExceptHandler):
                caught = ast.unparse(node.type) if node.type else "BaseException"
                if {"Exception", "BaseException"} & set(re.findall(r"\w+", caught)):
                    yield name_of(path), function.name


def test_everything_is_caught_in_outermost_frames_only() -> None:
    places = {place for path in modules(*PRODUCT) for place in broad_excepts(path)}
    assert places == BROAD_EXCEPTS.keys()


def test_no_module_has_a_vague_name() -> None:
    parts = {part for path in modules(*PRODUCT, "tests") for part in path.relative_to(ROOT).with_suffix("").parts}
    assert parts.isdisjoint(VAGUE_NAMES)


def test_fakes_are_real_implementations() -> None:
    files = modules("tests")
    imported = [
        f"{name_of(path)}: {module}"
        for path in files
        for module in imports(path)
        if covers("unittest", module) or covers("mock", module)
    ]
    asked_for = [
        f"{name_of(path)}: {node.name}"
        for path in files
        for node in nodes(path)
        if isinstance(node, ast.FunctionDef)
        if {"monkeypatch", "mocker"} & {argument.arg for argument in node.args.args}
    ]
    assert imported + asked_for == []


def test_a_unit_test_never_sleeps() -> None:
    calls = [
        (name_of(path), node.func)
        for path in modules("tests/unit", "tests/model")
        for node in nodes(path)
        if isinstance(node, ast.Call)
    ]
    names = [(file, call.attr if isinstance(call, ast.Attribute) else getattr(call, "id", "")) for file, call in calls]
    assert [file for file, name in names if name == "sleep"] == []


def files_of_the_project() -> list[Path]:
    """Return the files that git tracks or would; without git, all but those that tools create."""
    if shutil.which("git") is None:
        made = {".venv", ".cache", ".git", "build", "__pycache__"}
        return [path for path in ROOT.rglob("*") if path.is_file() and not made & set(path.relative_to(ROOT).parts)]
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    )
    return [ROOT / name for name in listed.stdout.decode().split("\0") if name and (ROOT / name).is_file()]


# In two pieces, or this file would contain what it looks for.
MACHINE_PATHS = re.compile("|".join(["/ro" + "ot/", "/ho" + r"me/(?!\$)\w+/", "/wo" + "rk/", "/tmp/" + "v/"]))
REGISTRY_HOSTS = re.compile(
    "|".join([r"repo1?\.ma" + r"ven\.", "maven-" + "central", r"py" + r"pi\.org", r"pythonho" + r"sted\.org"])
)


def test_no_file_names_a_machine_or_a_registry() -> None:
    named = []
    for path in files_of_the_project():
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        for pattern in (MACHINE_PATHS, REGISTRY_HOSTS):
            named += [f"{name_of(path)}: {match.group()}" for match in pattern.finditer(text)]
    assert named == []
