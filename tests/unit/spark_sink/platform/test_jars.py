from dataclasses import replace
from pathlib import Path

import pytest

from log_shipper.spark_sink.platform.cache import cache_directory
from log_shipper.spark_sink.platform.jars import JarSet, JarsMissing, reasons
from log_shipper.spark_sink.platform.java import JavaRuntime

ROOT = Path(__file__).parents[4]
# A Java that prints the command by which Spark's launcher would have started the resolver.
LAUNCHER = "#!/bin/sh\nprintf '\\nsh\\0-c\\0%s\\0' '{command}'"
RESOLVES = "mkdir -p {directory}/jars; touch {directory}/jars/group_a-1.jar"
FAILS = "echo unresolved dependency: group#a: not found; exit 1"


@pytest.fixture
def wanted(tmp_path: Path) -> JarSet:
    return JarSet(tmp_path / "set", ("group:a:1",))


def java(tmp_path: Path, command: str) -> JavaRuntime:
    runtime = JavaRuntime(tmp_path / "java")
    runtime.java.parent.mkdir(parents=True)
    runtime.java.write_text(LAUNCHER.format(command=command.format(directory=tmp_path / "set")))
    runtime.java.chmod(0o755)
    return runtime


def fill(wanted: JarSet, *packages: str) -> None:
    """As a fetch leaves it."""
    (wanted.directory / "jars").mkdir(parents=True)
    (wanted.directory / "jars" / "group_a-1.jar").touch()
    (wanted.directory / "complete").write_text("".join(f"{package}\n" for package in packages))


def test_a_set_without_its_mark_is_not_complete_and_has_no_jars(wanted: JarSet) -> None:
    fill(wanted, "group:a:1")
    assert [jar.name for jar in wanted.jars()] == ["group_a-1.jar"]
    (wanted.directory / "complete").unlink()
    assert not wanted.complete
    assert wanted.jars() == ()


def test_a_set_of_other_versions_is_not_complete(wanted: JarSet) -> None:
    fill(wanted, "group:a:1")
    assert wanted.complete
    assert not replace(wanted, packages=("group:a:2",)).complete


def test_a_set_with_jars_that_are_not_needed_any_more_is_not_complete(wanted: JarSet) -> None:
    fill(wanted, "group:a:1", "org.apache.spark:spark-sql-kafka-0-10_2.13:4.0.0")
    assert not wanted.complete


def test_what_spark_has_resolved_is_complete(
    wanted: JarSet, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wanted.fetch(java(tmp_path, RESOLVES))
    assert [jar.name for jar in wanted.jars()] == ["group_a-1.jar"]
    assert capsys.readouterr().err == "Downloading group:a:1 (once)\n"


def test_a_complete_set_is_not_fetched(wanted: JarSet, tmp_path: Path) -> None:
    fill(wanted, "group:a:1")
    wanted.fetch(JavaRuntime(tmp_path / "none"))


def test_what_could_not_be_fetched_is_named_with_the_reason(wanted: JarSet, tmp_path: Path) -> None:
    with pytest.raises(JarsMissing, match=r"(?s)^cannot download group:a:1:\n    unresolved.*Full log: .*resolver"):
        wanted.fetch(java(tmp_path, FAILS))
    assert not wanted.complete


def test_of_the_resolvers_report_the_lines_with_the_reason_are_shown() -> None:
    report = """
        :: resolving dependencies ::
        Host repos.spark-packages.org not found. url=a
        Server access error at url b (no route to host)
        ==== central: tried
        unresolved dependency: group#a;1: not found
        unresolved dependency: group#a;1: not found
    """
    shown = reasons(report).splitlines()
    assert [line.strip()[:23] for line in shown] == ["unresolved dependency: ", "Server access error at "]


def test_of_a_report_without_a_reason_the_end_is_shown() -> None:
    assert reasons("one\n\ntwo\n").split() == ["one", "two"]


def test_the_cache_is_where_the_environment_has_it_else_in_the_checkout() -> None:
    assert cache_directory({"SHIPPER_CACHE": "/somewhere"}) == Path("/somewhere")
    assert cache_directory({}) == ROOT / ".cache"
