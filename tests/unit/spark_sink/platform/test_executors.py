import subprocess
import sys
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path

import pytest
from pyspark import cloudpickle

from log_shipper.spark_sink.platform.executors import (
    LIBRARIES,
    OURS,
    THE_SINK,
    PythonReport,
    differences,
    is_local,
    reason,
    reporter,
)

HERE = PythonReport("driver", "python, 3.11.7", {"msgspec": "1", "pyarrow": "2", THE_SINK: "aa"})


def test_the_same_versions_on_all_machines_are_no_difference() -> None:
    assert differences(HERE, [replace(HERE, machine="one"), replace(HERE, machine="two")]) == []


def test_what_is_missing_or_another_version_is_named_with_its_machine_once() -> None:
    other = PythonReport("one", "/usr/bin/python3.11, 3.11.2", {"msgspec": "", "pyarrow": "1", THE_SINK: "aa"})
    old = replace(HERE, machine="two", versions={**HERE.versions, THE_SINK: "bb"})
    assert differences(HERE, [other, other, HERE, old]) == [
        "on one (/usr/bin/python3.11, 3.11.2) msgspec is missing, pyarrow is 1 and not 2",
        "on two (python, 3.11.7) the sink's own code differs",
    ]


def test_the_driver_reports_what_is_installed() -> None:
    ((_, python, versions),) = reporter(OURS, LIBRARIES)(())
    assert python.startswith(sys.executable)
    assert {name: versions[name] for name in LIBRARIES.values()} == {name: version(name) for name in LIBRARIES.values()}
    assert len(versions[THE_SINK]) == 64


def test_a_python_without_anything_of_ours_reports_what_it_lacks(tmp_path: Path) -> None:
    """As a task does on an executor: the function is all that it gets, and Spark's cloudpickle."""
    (tmp_path / "report").write_bytes(cloudpickle.dumps(reporter(OURS, LIBRARIES)))  # type: ignore[no-untyped-call]  # PySpark's copy has no types
    statement = "import pickle; print(next(pickle.load(open('report', 'rb'))(()))[2])"
    spark = str(Path(cloudpickle.__file__).parents[1])
    (tmp_path / "pyspark").mkdir()
    (tmp_path / "pyspark" / "__init__.py").touch()
    (tmp_path / "pyspark" / "cloudpickle").symlink_to(Path(spark) / "cloudpickle")
    command = [sys.executable, "-S", "-c", statement]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env={})
    assert done.stdout.strip() == str(dict.fromkeys([*LIBRARIES.values(), THE_SINK], "")), done.stderr


def test_a_library_that_was_compiled_for_another_python_is_not_usable(tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text("raise ImportError('undefined symbol')\n")
    statement = (
        "from log_shipper.spark_sink.platform.executors import reporter\n"
        "print(next(reporter((), {'broken': 'broken'})(()))[2]['broken'])"
    )
    paths = f"{tmp_path}:{Path(__file__).parents[4]}"
    done = subprocess.run(
        [sys.executable, "-c", statement], capture_output=True, text=True, cwd=tmp_path, env={"PYTHONPATH": paths}
    )
    assert done.stdout.strip() == "not usable (undefined symbol)", done.stderr


def test_a_change_of_the_sinks_code_changes_its_digest(tmp_path: Path) -> None:
    digests = []
    for text in ("one = 1\n", "one = 2\n"):
        (tmp_path / "ours_of_the_test").mkdir(exist_ok=True)
        (tmp_path / "ours_of_the_test" / "__init__.py").write_text(text)
        statement = (
            "from log_shipper.spark_sink.platform.executors import THE_SINK, reporter\n"
            "print(next(reporter(['ours_of_the_test'], {})(()))[2][THE_SINK])"
        )
        paths = f"{tmp_path}:{Path(__file__).parents[4]}"
        done = subprocess.run(
            [sys.executable, "-c", statement], capture_output=True, text=True, env={"PYTHONPATH": paths}, check=True
        )
        digests.append(done.stdout)
    assert digests[0] != digests[1]


@pytest.mark.parametrize("master", ["local", "local[2]", "local[*]", "local[4,2]"])
def test_in_local_mode_tasks_run_where_the_driver_does(master: str) -> None:
    assert is_local(master)


@pytest.mark.parametrize("master", ["local-cluster[2,1,1024]", "spark://local:7077", "yarn", "localhost"])
def test_a_cluster_has_machines_of_its_own_even_if_its_name_begins_with_local(master: str) -> None:
    assert not is_local(master)


def test_why_no_task_ran_is_reported_in_words() -> None:
    assert "minor version" in reason("x [PYTHON_VERSION_MISMATCH] Python in worker has different version: 3.9")
    assert "PYSPARK_PYTHON" in reason('java.io.IOException: Cannot run program "python3.12": error=2')
    assert reason("Job aborted") == "Job aborted"
