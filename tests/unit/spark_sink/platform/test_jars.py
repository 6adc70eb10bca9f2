import tomllib
from dataclasses import replace
from pathlib import Path

from packaging.requirements import Requirement

from log_shipper.spark_sink.platform import versions
from log_shipper.spark_sink.platform.cache import cache_directory
from log_shipper.spark_sink.platform.jars import JarSet, reasons, session_options, spark_set

ROOT = Path(__file__).parents[4]


def fill(wanted: JarSet, *jars: str) -> None:
    """As the resolver leaves it."""
    (wanted.directory / "jars").mkdir(parents=True)
    for jar in jars:
        (wanted.directory / "jars" / jar).touch()
    (wanted.directory / "complete").write_text(wanted.wanted)


def test_a_set_without_its_mark_is_not_complete_and_has_no_jars(tmp_path: Path) -> None:
    wanted = spark_set(tmp_path)
    fill(wanted, "group_a-1.jar")
    assert [jar.name for jar in wanted.jars()] == ["group_a-1.jar"]
    (wanted.directory / "complete").unlink()
    assert not wanted.complete
    assert wanted.jars() == ()


def test_a_set_of_other_versions_is_not_complete(tmp_path: Path) -> None:
    wanted = spark_set(tmp_path)
    fill(wanted, "group_a-1.jar")
    assert wanted.complete
    assert not replace(wanted, packages=("group:a:2",)).complete


def test_a_set_with_jars_that_the_sink_does_not_need_any_more_is_not_complete(tmp_path: Path) -> None:
    wanted = spark_set(tmp_path)
    fill(replace(wanted, packages=(*wanted.packages, "org.apache.spark:spark-sql-kafka-0-10_2.13:4.0.0")), "a_b-1.jar")
    assert not wanted.complete
    assert "spark.driver.extraClassPath" not in session_options(tmp_path)


def test_a_session_takes_the_cached_jars_that_spark_does_not_have(tmp_path: Path) -> None:
    fill(spark_set(tmp_path), "io.delta_delta-spark_2.13-9.jar", "org.slf4j_slf4j-api-2.0.16.jar")
    jar = tmp_path / "spark" / "jars" / "io.delta_delta-spark_2.13-9.jar"
    assert session_options(tmp_path) == {"spark.driver.extraClassPath": str(jar)}


def test_a_jar_that_spark_has_in_another_version_is_taken_too(tmp_path: Path) -> None:
    fill(spark_set(tmp_path), "org.slf4j_slf4j-api-0.0.1.jar")
    assert "slf4j-api-0.0.1" in session_options(tmp_path)["spark.driver.extraClassPath"]


def test_without_a_cache_spark_resolves_the_packages_into_it(tmp_path: Path) -> None:
    options = session_options(tmp_path)
    assert options["spark.jars.packages"] == versions.DELTA
    assert options["spark.jars.ivy"] == str(tmp_path / "spark")
    assert "spark.driver.extraClassPath" not in options


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


def test_the_python_pins_agree_with_the_java_versions() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    requirements = {item.name: item for item in map(Requirement, project["optional-dependencies"]["sink"])}
    assert requirements["delta-spark"].specifier.contains(versions.DELTA.rpartition(":")[2])
