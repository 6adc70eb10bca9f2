"""Which Java is taken. The Javas here are shell scripts that answer as a real one does."""

import subprocess
from pathlib import Path

import pytest

from log_shipper.spark_sink.platform.java import NoJava, find_java, write_wrapper

VECTOR = "jdk.incubator.vector@21"


def install(home: Path, version: str = "21", modules: str = VECTOR) -> Path:
    """Create a Java in `home/bin/java`; like the real one it prints properties on stderr and modules on stdout."""
    java = home / "bin" / "java"
    java.parent.mkdir(parents=True)
    properties = f"    java.home = {home}\\n    java.specification.version = {version}"
    java.write_text(f'#!/bin/sh\nprintf "{properties}\\n" >&2\nprintf "java.base@{version}\\n{modules}\\n"\n')
    java.chmod(0o755)
    return java


def environment(tmp_path: Path, java_home: Path | None = None, on_path: Path | None = None) -> dict[str, str]:
    env = {"PATH": f"{on_path or tmp_path}/bin", "SHIPPER_CACHE": str(tmp_path / "cache")}
    return env | ({"JAVA_HOME": str(java_home)} if java_home else {})


def none_bundled() -> None:
    return None


def test_java_home_comes_before_the_path(tmp_path: Path) -> None:
    install(tmp_path / "home")
    install(tmp_path / "other")
    env = environment(tmp_path, java_home=tmp_path / "home", on_path=tmp_path / "other")
    assert find_java(env, none_bundled).home == tmp_path / "home"


def test_a_java_that_is_too_old_is_passed_over(tmp_path: Path) -> None:
    install(tmp_path / "old", version="11")
    install(tmp_path / "new", version="17")
    env = environment(tmp_path, java_home=tmp_path / "old", on_path=tmp_path / "new")
    assert find_java(env, none_bundled).home == tmp_path / "new"


def test_a_java_that_names_its_version_as_java_8_does_is_too_old(tmp_path: Path) -> None:
    install(tmp_path / "eight", version="1.8")
    with pytest.raises(NoJava, match="is Java 8"):
        find_java(environment(tmp_path, java_home=tmp_path / "eight"), none_bundled)


def test_a_java_without_the_vector_module_is_passed_over(tmp_path: Path) -> None:
    install(tmp_path / "small", modules="java.sql@21")
    with pytest.raises(NoJava, match=r"lacks the module jdk\.incubator\.vector"):
        find_java(environment(tmp_path, java_home=tmp_path / "small"), none_bundled)


def test_a_link_on_the_path_leads_to_the_home_that_java_names(tmp_path: Path) -> None:
    java = install(tmp_path / "jvm")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "java").symlink_to(java)
    assert find_java(environment(tmp_path), none_bundled).java == java


def test_without_any_java_the_error_has_what_to_install(tmp_path: Path) -> None:
    with pytest.raises(NoJava, match="JAVA_HOME is not set, and there is no java on the path") as error:
        find_java(environment(tmp_path), none_bundled)
    assert "apt-get install openjdk-17-jre-headless" in str(error.value)


def test_a_java_home_that_does_not_exist_is_named_in_the_error(tmp_path: Path) -> None:
    with pytest.raises(NoJava, match=r"nowhere/bin/java: does not run"):
        find_java(environment(tmp_path, java_home=tmp_path / "nowhere"), none_bundled)


def test_the_java_of_the_wheel_comes_last_and_in_a_wrapper(tmp_path: Path) -> None:
    wheel = install(tmp_path / "wheel", modules="")
    runtime = find_java(environment(tmp_path), lambda: wheel)
    assert runtime.home == tmp_path / "cache" / "java"
    install(tmp_path / "home")
    assert find_java(environment(tmp_path, java_home=tmp_path / "home"), lambda: wheel).home == tmp_path / "home"


def echoing(tmp_path: Path) -> Path:
    """Create a Java that prints its process id and its arguments, one per line."""
    java = tmp_path / "with space" / "java"
    java.parent.mkdir()
    java.write_text('#!/bin/sh\necho $$\nfor each do echo "$each"; done\n')
    java.chmod(0o755)
    return java


def run(home: Path, *arguments: str) -> tuple[int, list[str]]:
    with subprocess.Popen([home / "bin" / "java", *arguments], stdout=subprocess.PIPE, text=True) as process:
        output, _ = process.communicate()
        first, *given = output.splitlines()
        assert int(first) == process.pid, "signals to the wrapper would not reach the JVM"
        return process.returncode, given


def test_the_wrapper_leaves_out_the_module_and_nothing_else(tmp_path: Path) -> None:
    home = write_wrapper(echoing(tmp_path), tmp_path / "home")
    arguments = ["-Xmx1g", "--add-modules=jdk.incubator.vector", "-Dname=two words", "", "Main"]
    assert run(home, *arguments) == (0, ["-Xmx1g", "-Dname=two words", "", "Main"])


def test_the_wrapper_is_written_again_when_the_runtime_has_moved(tmp_path: Path) -> None:
    write_wrapper(tmp_path / "gone", tmp_path / "home")
    write_wrapper(echoing(tmp_path), tmp_path / "home")
    assert run(tmp_path / "home", "Main") == (0, ["Main"])


def test_the_wrapper_that_is_right_already_is_left_alone(tmp_path: Path) -> None:
    java = echoing(tmp_path)
    write_wrapper(java, tmp_path / "home")
    before = (tmp_path / "home" / "bin" / "java").stat().st_ino
    write_wrapper(java, tmp_path / "home")
    assert (tmp_path / "home" / "bin" / "java").stat().st_ino == before


def test_the_wrapper_trusts_whom_the_machine_trusts(tmp_path: Path) -> None:
    bundle = tmp_path / "bundle.pem"
    bundle.write_text("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")
    home = write_wrapper(echoing(tmp_path), tmp_path / "home", bundle)
    assert run(home, "Main") == (0, [f"-Djavax.net.ssl.trustStore={home / 'trusted.jks'}", "Main"])
    assert (home / "trusted.jks").read_bytes().startswith(b"\xfe\xed\xfe\xed")
