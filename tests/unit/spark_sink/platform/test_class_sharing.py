"""When there is an archive of classes for a JVM, and the error when none can be made."""

import os
import time
from pathlib import Path

import pytest

from log_shipper.spark_sink.platform.class_sharing import ClassArchive, SharingFailed, key
from log_shipper.spark_sink.platform.java import JavaRuntime

TRAINED = ("sh", "-c", 'echo java/lang/Object >"$0/classes.list"; echo a.jar:b.jar >"$0/class.path"')


@pytest.fixture
def java(tmp_path: Path) -> JavaRuntime:
    """One that can do nothing."""
    java = JavaRuntime(tmp_path / "java")
    java.java.parent.mkdir(parents=True)
    java.java.write_text("#!/bin/sh\necho no such option >&2\nexit 3\n")
    java.java.chmod(0o755)
    return java


@pytest.fixture
def jars(tmp_path: Path) -> tuple[Path, ...]:
    (tmp_path / "a.jar").write_text("a")
    return (tmp_path / "a.jar",)


@pytest.fixture
def archive(tmp_path: Path, java: JavaRuntime, jars: tuple[Path, ...]) -> ClassArchive:
    archive = ClassArchive(tmp_path / "classes")
    archive.directory.mkdir()
    archive.path.touch()
    (archive.directory / "key").write_text(key(java, jars))
    return archive


def test_an_archive_fits_the_java_and_the_jars_it_was_made_for(
    archive: ClassArchive, java: JavaRuntime, jars: tuple[Path, ...]
) -> None:
    assert archive.fits(java, jars)
    assert archive.options(java, jars, "-Xss2m") == f"-XX:SharedArchiveFile={archive.path} -Xlog:cds=off"
    assert not archive.fits(java, (*jars, java.java))


@pytest.mark.parametrize("what", ["jar", "java"])
def test_an_archive_of_what_has_changed_since_does_not_fit(
    archive: ClassArchive, java: JavaRuntime, jars: tuple[Path, ...], what: str
) -> None:
    os.utime(jars[0] if what == "jar" else java.java, (1, 1))
    assert archive.options(java, jars, "") == ""


@pytest.mark.parametrize("missing", ["classes.jsa", "key"])
def test_an_archive_whose_making_was_cut_short_does_not_fit(
    archive: ClassArchive, java: JavaRuntime, jars: tuple[Path, ...], missing: str
) -> None:
    (archive.directory / missing).unlink()
    assert archive.options(java, jars, "") == ""


@pytest.mark.parametrize("given", ["-Xshare:off", "-Xss2m -XX:SharedArchiveFile=/own.jsa"])
def test_an_option_of_the_user_about_sharing_is_kept(
    archive: ClassArchive, java: JavaRuntime, jars: tuple[Path, ...], given: str
) -> None:
    assert archive.options(java, jars, given) == ""


def test_a_new_archive_takes_the_place_of_the_old_one(
    archive: ClassArchive, java: JavaRuntime, jars: tuple[Path, ...]
) -> None:
    os.utime(jars[0], (1, 1))
    java.java.write_text('#!/bin/sh\nfor a do case $a in -XX:SharedArchiveFile=*) echo new >"${a#*=}";; esac; done\n')
    archive.make(java, jars, TRAINED)
    assert archive.fits(java, jars)
    assert archive.path.read_text() == "new\n"
    assert sorted(path.name for path in archive.directory.iterdir()) == ["classes.jsa", "key"]


@pytest.mark.parametrize(
    ("train", "reason"),
    [
        (("sh", "-c", "echo no broker >&2; exit 1"), r"the training run exited with code 1:\n    no broker"),
        (("no-such-program",), "the training run failed: .*no-such-program"),
        (TRAINED, r"java -Xshare:dump exited with code 3:\n    no such option"),
    ],
)
def test_a_step_that_fails_is_reported_with_its_last_output_and_the_old_archive_stays(
    archive: ClassArchive, java: JavaRuntime, jars: tuple[Path, ...], train: tuple[str, ...], reason: str
) -> None:
    with pytest.raises(SharingFailed, match=reason):
        archive.make(java, jars, train)
    assert archive.fits(java, jars)
    assert sorted(path.name for path in archive.directory.iterdir()) == ["classes.jsa", "key"]


# Refuses every archive that was not made of "a.jar" alone.
CAPRICIOUS = """#!/bin/sh
for argument do
    case $argument in -XX:SharedArchiveFile=*) archive=${argument#*=} ;; esac
    case $before in -cp) path=$argument ;; esac
    before=$argument
done
case $1 in
-Xshare:dump) echo "$path" >"$archive" ;;
*) [ "$(cat "$archive")" = a.jar ] || { echo mismatch >&2; exit 1; } ;;
esac
"""


def test_of_a_class_path_whose_archive_java_refuses_the_last_entry_is_left_out(
    archive: ClassArchive, java: JavaRuntime, jars: tuple[Path, ...]
) -> None:
    java.java.write_text(CAPRICIOUS)
    archive.make(java, jars, TRAINED)
    assert archive.path.read_text() == "a.jar\n"
    java.java.write_text(CAPRICIOUS.replace("= a.jar", "= none"))
    with pytest.raises(SharingFailed, match=r"java -Xshare:on exited with code 1:\n    mismatch"):
        archive.make(java, jars, TRAINED)


def test_what_a_killed_run_left_is_removed_and_what_another_one_makes_is_not(
    archive: ClassArchive, java: JavaRuntime, jars: tuple[Path, ...]
) -> None:
    for name, ago in (("training-killed", 3600), ("training-running", 60)):
        (archive.directory / name).mkdir()
        (archive.directory / name / "classes.jsa").touch()
        os.utime(archive.directory / name, (time.time() - ago, time.time() - ago))
    with pytest.raises(SharingFailed):
        archive.make(java, jars, TRAINED)
    assert [path.name for path in archive.directory.glob("training-*")] == ["training-running"]
