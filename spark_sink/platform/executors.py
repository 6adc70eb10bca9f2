"""Compares the executors' Python with the driver's before the first batch is planned.

Python tasks read and write rows, so executors need the sink's packages and their libraries in the driver's versions:
another version may read a record differently. `archive` packs them for a cluster.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from pyspark.sql import SparkSession

from log_shipper.spark_sink.errors import SinkError, root_cause
from log_shipper.spark_sink.platform.spark_errors import SPARK_ERRORS

OURS = ("log_shipper.config", "log_shipper.runtime", "log_shipper.spark_sink")
# Modules that tasks import besides Spark's -> their distributions.
LIBRARIES = {
    "confluent_kafka": "confluent-kafka",
    "cryptography": "cryptography",
    "deltalake": "deltalake",
    "msgspec": "msgspec",
    "pyarrow": "pyarrow",
    "re2": "google-re2",
    "yaml": "PyYAML",
}
UNPACKED = "sink_packages"  # the directory of the unpacked archive, in the working directory of a Spark process
THE_SINK = "the sink's own code"
_WAY_OUT = (
    "Pack the driver's environment again (python -m log_shipper.spark_sink.platform.archive) and pass it by "
    "--archives, or install the same packages on each machine and set PYSPARK_PYTHON to their Python "
    "(docs/guides/cluster.md)"
)


@dataclass(frozen=True, slots=True)
class PythonReport:
    """A Python on a machine. `versions`: by distribution; empty if it is missing, or why it cannot be imported."""

    machine: str
    python: str
    versions: Mapping[str, str]


def check(spark: SparkSession) -> None:
    """Run a task on each executor core, and compare. In local mode, where tasks use the driver's Python, do nothing.
    Raises SinkError."""
    context = spark.sparkContext
    if is_local(str(context.master)):
        return
    report, cores = reporter(OURS, LIBRARIES), context.defaultParallelism
    try:
        given = context.parallelize(range(cores), cores).mapPartitions(report).collect()
    except SPARK_ERRORS as error:
        raise SinkError(f"the Python of the executors does not work: {reason(str(error))}. {_WAY_OUT}") from error
    (driver,) = (PythonReport(*fields) for fields in report(()))
    if wrong := differences(driver, [PythonReport(*fields) for fields in given]):
        raise SinkError(f"the Python of the executors is not the driver's: {'; '.join(wrong)}. {_WAY_OUT}")


def is_local(master: str) -> bool:
    """Return True if the tasks run on the driver's machine, with its Python and its directories."""
    return master == "local" or master.startswith("local[")


def reason(text: str) -> str:
    """Return why no task ran, from Spark's text."""
    if "PYTHON_VERSION_MISMATCH" in text:
        return "its minor version differs from the driver's"
    if "Cannot run program" in text:
        return f"PYSPARK_PYTHON does not exist there ({root_cause(text)})"
    return root_cause(text)


def differences(driver: PythonReport, executors: Iterable[PythonReport]) -> list[str]:
    """Return a text for each machine whose Python differs from the driver's."""
    texts = []
    for report in executors:
        wrong = [
            _difference(name, report.versions.get(name, ""), version)
            for name, version in driver.versions.items()
            if report.versions.get(name, "") != version
        ]
        if wrong:
            texts.append(f"on {report.machine} ({report.python}) {', '.join(wrong)}")
    return list(dict.fromkeys(texts))


def _difference(name: str, version: str, expected: str) -> str:
    if not version:
        return f"{name} is missing"
    return f"{name} differs" if name == THE_SINK else f"{name} is {version} and not {expected}"


Fields = tuple[str, str, dict[str, str]]


def reporter(ours: Sequence[str], libraries: Mapping[str, str]) -> Callable[[Iterable[int]], Iterator[Fields]]:
    """Return a function for a task, which yields the fields of a PythonReport.

    As an inner function it is pickled by value: the sink may not be installed where it runs.
    """
    own = THE_SINK

    def report(_: Iterable[int]) -> Iterator[Fields]:
        import hashlib
        import importlib.metadata
        import importlib.util
        import pathlib
        import platform
        import sys

        def version(module: str, distribution: str) -> str:
            try:
                importlib.import_module(module)
                return importlib.metadata.version(distribution)
            except ModuleNotFoundError:  # PackageNotFoundError too
                return ""
            except ImportError as error:  # compiled for another Python or machine
                return f"not usable ({error})"

        def digest() -> str:
            contents = hashlib.sha256()
            for name in ours:
                try:
                    spec = importlib.util.find_spec(name)
                except ModuleNotFoundError:  # log_shipper itself
                    return ""
                if spec is None or spec.origin is None:
                    return ""
                root = pathlib.Path(spec.origin).parent
                for path in sorted(root.rglob("*.py")):
                    contents.update(str(path.relative_to(root)).encode() + path.read_bytes())
            return contents.hexdigest()

        versions = {distribution: version(module, distribution) for module, distribution in libraries.items()}
        yield platform.node(), f"{sys.executable}, {platform.python_version()}", {**versions, own: digest()}

    return report
