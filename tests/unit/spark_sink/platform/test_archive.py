import ast
import re
import subprocess
import sys
import tarfile
import tomllib
from importlib.metadata import packages_distributions, version
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from log_shipper.config.yaml.load import load
from log_shipper.spark_sink.options.model import SinkConfig
from log_shipper.spark_sink.platform import archive, delta_jar
from log_shipper.spark_sink.platform.executors import LIBRARIES, OURS, UNPACKED
from log_shipper.spark_sink.platform.jvm import spark_home

ROOT = Path(__file__).parents[4]
PAGE = (ROOT / "docs" / "guides" / "cluster.md").read_text()
STORES = (ROOT / "docs" / "guides" / "object-stores.md").read_text()
BESIDE = {"pyspark", "py4j"}  # Spark brings them
OF_ANOTHER_PYTHON = {"_sha2", "_sha256"}
SEARCH = {"duckdb", "orjson"}  # of `spark-sink search`, which reads tables without a cluster
SIGNER = {"aws_msk_iam_sasl_signer", "botocore"}  # an extra of its own


def imported() -> set[str]:
    """Return the third-party modules that the sink imports."""
    names: set[str] = set()
    for path in [path for package in OURS for path in (ROOT / package.removeprefix("log_shipper.")).rglob("*.py")]:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                names |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                names.add(str(node.module).partition(".")[0])
    return names - sys.stdlib_module_names - OF_ANOTHER_PYTHON - {"log_shipper"}


def test_the_archive_has_every_library_that_the_sink_imports() -> None:
    names = {packages_distributions()[module][0].replace("_", "-") for module in imported() - BESIDE - SIGNER - SEARCH}
    assert names == {*LIBRARIES.values(), *archive.OF_THE_DRIVER}


def test_every_library_that_the_sink_imports_is_installed_with_it() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    pins = {Requirement(pin).name for pin in [*project["dependencies"], *project["optional-dependencies"]["sink"]]}
    names = {packages_distributions()[module][0].replace("_", "-") for module in imported() - {"py4j"} - SIGNER}
    assert {*names, *LIBRARIES.values(), *archive.OF_THE_DRIVER} <= pins


def test_what_a_task_imports_is_checked_on_the_executors() -> None:
    """In a Python of its own: this one has imported everything."""
    landing = "log_shipper.spark_sink.landing"
    statement = f"import sys, {landing}.range_task, {landing}.kafka_reader; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", statement], capture_output=True, text=True, check=True, cwd=ROOT)
    modules = {name.partition(".")[0] for name in done.stdout.split()}
    assert modules & imported() - BESIDE <= LIBRARIES.keys()


@pytest.mark.slow("starts Spark by the command of a package")
def test_the_archive_is_all_that_the_command_needs_beside_spark(tmp_path: Path) -> None:
    """Where nothing is installed, the script reads its configuration, and then misses pyspark. As Spark does with
    --archives, it is unpacked in the working directory."""
    packed, script = archive.write(tmp_path / "packed")
    with tarfile.open(packed) as opened:
        opened.extractall(tmp_path / UNPACKED, filter="data")
    (tmp_path / "sink.yml").write_text("kafka: {hosts: ['b:1'], topics: [t]}\ntable.path: /t\ncheckpoint.path: /c\n")
    command = [sys.executable, "-S", str(script), "run", "-c", "sink.yml"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path, env={})
    assert done.returncode == 1
    assert done.stderr == "pyspark is not installed: pip install '.[sink]' in the project's directory\n"
    statement = f"import sys; sys.path.insert(0, {str(tmp_path / UNPACKED)!r}); import " + ", ".join(
        sorted(imported() - BESIDE - SIGNER - SEARCH)
    )
    subprocess.run([sys.executable, "-S", "-c", statement], check=True, cwd=tmp_path, env={})


def test_a_distribution_brings_what_it_needs() -> None:
    names = {part.name for part in archive.with_requirements(["cryptography", "deltalake"])}
    assert {"cryptography", "cffi", "pycparser", "deltalake", "arro3-core"} <= names
    assert "pyspark" not in names


def test_a_distribution_that_is_not_installed_is_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert archive.main([str(tmp_path), "no-such-distribution"]) == 1
    assert "no-such-distribution is not installed here" in capsys.readouterr().err


def test_a_command_line_without_a_directory_is_wrong() -> None:
    assert archive.main([]) == 2


def test_a_directory_that_cannot_be_made_is_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("")
    assert archive.main([str(tmp_path / "file")]) == 1
    assert "cannot write the archive" in capsys.readouterr().err


def test_the_page_on_clusters_names_the_versions_that_are_tested() -> None:
    for minor, package in delta_jar.RELEASES.items():
        assert f"| {minor} | `{package}` |" in PAGE


def test_the_page_on_object_stores_names_the_jars_of_the_locked_spark() -> None:
    if f"\npyspark=={version('pyspark')} " not in (ROOT / "requirements" / "dev.lock").read_text():
        pytest.skip("the page is about the locked PySpark, which is not the one here")
    (hadoop,) = (spark_home() / "jars").glob("hadoop-client-api-*.jar")
    brought = hadoop.stem.rpartition("-")[2]
    assert set(re.findall(r"hadoop-(?:aws|azure):([\d.]+)", STORES)) == {brought}
    assert f"brings {brought}" in STORES
    (ours,) = (spark_home() / "jars").glob("spark-core_2.13-*.jar")
    (cloud,) = set(re.findall(r"spark-hadoop-cloud_2.13:([\d.]+)", STORES))
    assert cloud.split(".")[:2] == ours.stem.rpartition("-")[2].split(".")[:2]


def test_the_page_names_the_directory_that_the_archive_is_unpacked_in() -> None:
    assert set(re.findall(r"sink-packages\.tar\.gz#(\w+)", PAGE)) == {UNPACKED}


def test_the_configuration_on_that_page_is_one(tmp_path: Path) -> None:
    section = PAGE.partition("\n## The configuration on a cluster\n")[2]
    block, *_ = re.findall(r"^```yaml\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)
    (tmp_path / "sink.yml").write_text(block)
    config = load([tmp_path / "sink.yml"], SinkConfig, [])
    assert config.spark_conf == {"spark.log.level": "WARN"}
