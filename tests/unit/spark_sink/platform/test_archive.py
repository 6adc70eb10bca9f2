import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from config.sink.model import SinkConfig
from config.yaml.load import load
from spark_sink.platform import archive, versions
from spark_sink.platform.jars import spark_home

PAGE = (Path(__file__).parents[4] / "docs" / "cluster.md").read_text()


def test_the_zip_is_all_that_the_command_needs_beside_spark(tmp_path: Path) -> None:
    """Where nothing is installed, the command reads its configuration, and then misses pyspark."""
    packed, script = archive.write(tmp_path)
    (tmp_path / "sink.yml").write_text("kafka: {hosts: ['b:1'], topics: [t]}\ntable.path: /t\ncheckpoint.path: /c\n")
    command = [sys.executable, "-S", str(script), "run", "-c", "sink.yml"]
    environment = {"PYTHONPATH": str(packed)}  # as Spark does with --py-files
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path, env=environment)
    assert done.returncode == 1
    assert done.stderr == "pyspark is not installed: pip install '.[sink]' in the project's directory\n"


def test_nothing_in_the_zip_is_compiled_for_one_machine(tmp_path: Path) -> None:
    packed, _ = archive.write(tmp_path)
    with zipfile.ZipFile(packed) as opened:
        names = opened.namelist()
    assert {
        "spark_sink/__main__.py",
        "config/sink/model.py",
        "yaml/__init__.py",
        "prometheus_client/__init__.py",
    } <= set(names)
    assert not [name for name in names if name.endswith((".so", ".pyc"))]


def test_the_command_prints_what_to_do_with_the_two_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert archive.main([str(tmp_path / "out")]) == 0
    assert f"--py-files {tmp_path}/out/sink.zip {tmp_path}/out/spark-sink.py run" in capsys.readouterr().out
    assert archive.main([]) == 2


def test_a_directory_that_cannot_be_made_is_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("")
    assert archive.main([str(tmp_path / "file")]) == 1
    assert "cannot write the archive" in capsys.readouterr().err


def test_the_page_on_clusters_names_the_versions_that_are_tested() -> None:
    assert f"PACKAGES={','.join(versions.SPARK_PACKAGES)}\n" in PAGE
    (hadoop,) = (spark_home() / "jars").glob("hadoop-client-api-*.jar")
    version = hadoop.stem.rpartition("-")[2]
    assert set(re.findall(r"hadoop-(?:aws|azure):([\d.]+)", PAGE)) == {version}
    assert f"brings {version}" in PAGE
    assert set(re.findall(r"delta-storage-s3-dynamodb:([\d.]+)", PAGE)) == {versions.DELTA.rpartition(":")[2]}
    (ours,) = (spark_home() / "jars").glob("spark-core_2.13-*.jar")
    (cloud,) = set(re.findall(r"spark-hadoop-cloud_2.13:([\d.]+)", PAGE))
    assert cloud.split(".")[:2] == ours.stem.rpartition("-")[2].split(".")[:2]


def test_the_configuration_on_that_page_is_one(tmp_path: Path) -> None:
    (block,) = re.findall(r"^```yaml\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    (tmp_path / "sink.yml").write_text(block)
    config = load([tmp_path / "sink.yml"], SinkConfig, [])
    assert config.spark_conf == {"spark.log.level": "WARN"}
