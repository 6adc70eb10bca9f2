"""What the image is made of, without building one; tests/e2e/test_image.py does."""

import hashlib
import json
import re
import shlex
import tarfile
import tomllib
from pathlib import Path
from typing import Any

import pytest

from deploy.container.base import SHELL
from deploy.container.contents import HERE, IMAGES, SECOND, Contents
from deploy.container.layout import Blobs, Image, pack, write_layout
from deploy.debian.contents import ROOT

EPOCH = 1_700_000_000
CONTAINERFILE = (HERE / "Containerfile").read_text()
Instructions = list[tuple[str, str]]
each_image = pytest.mark.parametrize("name", IMAGES)


def stage(name: str) -> Instructions:
    """Return name and arguments of each instruction of a stage of the Containerfile, after those of its base."""
    _, base, rest = re.split(rf"^FROM (\S+) AS {name}$", CONTAINERFILE, flags=re.MULTILINE)
    text = rest.partition("\nFROM ")[0]
    lines = re.sub(r"\\\n\s*", "", re.sub(r"^#.*\n", "", text, flags=re.MULTILINE)).splitlines()
    own = [(word, rest) for word, _, rest in (line.partition(" ") for line in lines if line)]
    return own if base.startswith("$") else stage(base) + own


def given(name: str, instruction: str) -> list[str]:
    return [rest for word, rest in stage(name) if word == instruction]


@each_image
def test_an_engine_and_our_script_make_images_that_start_equally(name: str) -> None:
    start = IMAGES[name].start
    assert given(name, "USER") == [start["User"]]
    assert given(name, "WORKDIR") == [start["WorkingDir"]]
    assert given(name, "STOPSIGNAL") == [start["StopSignal"]]
    assert given(name, "ENV") == start["Env"]
    started = [json.loads(text) for text in (*given(name, "ENTRYPOINT"), *given(name, "CMD"))]
    assert started == [start["Entrypoint"], start["Cmd"]]
    labels = dict(shlex.split(text)[0].split("=", 1) for text in given(name, "LABEL"))
    assert labels == start["Labels"]
    assert [f"{port}/tcp" for port in given(name, "EXPOSE")] == list(start["ExposedPorts"])


@each_image
def test_an_engine_and_our_script_make_images_that_are_probed_equally(name: str) -> None:
    (health,) = given(name, "HEALTHCHECK")
    options, _, command = health.partition(" CMD ")
    times = {name: int(value) for name, value in re.findall(r"--([\w-]+)=(\d+)", options)}
    made = IMAGES[name].start["Healthcheck"]
    assert ["CMD", *json.loads(command)] == made["Test"]
    assert (times["retries"], times["interval"] * SECOND) == (made["Retries"], made["Interval"])
    assert (times["timeout"] * SECOND, times["start-period"] * SECOND) == (made["Timeout"], made["StartPeriod"])


@each_image
def test_an_engine_and_our_script_install_the_same(name: str) -> None:
    contents = IMAGES[name]
    assert installed(name) == {package.replace("python3.11", "python3") for package in contents.system}
    locks = set(re.findall(r"requirements/(\w+\.lock)", " ".join(given(f"{name}-environment", "RUN"))))
    assert locks == {lock.name for lock in contents.package.locks}
    copied = {text.split()[-1]: text.split()[-2] for text in given(name, "COPY")}
    home = contents.package.home
    files = {inside: str(source.relative_to(ROOT)) for inside, source in contents.files.items()}
    assert copied == {home: home, **files}
    assert made(contents) <= set(given(name, "RUN")[-1].split(" && "))


def installed(name: str) -> set[str]:
    commands = " && ".join(given(name, "RUN")).split(" && ")
    return {word for command in commands if "apt-get install" in command for word in command.split()[4:]}


def made(contents: Contents) -> set[str]:
    """Return the commands that make the user, the directories and the links of an image."""
    user = contents.package
    uid, _, gid = contents.start["User"].partition(":")
    return {
        f"useradd --uid {uid} --gid {gid} --no-create-home --home-dir {user.state} --shell {SHELL} {user.user}",
        *(f"install -d -o {uid} -g {gid} -m 0775 {directory}" for directory in contents.writable),
        *(f"ln -s {target} {link}" for link, target in contents.links.items()),
    }


def test_the_containerfile_copies_every_package_of_the_wheel() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    packages = set(project["tool"]["setuptools"]["package-dir"].values())
    assert set(re.findall(r"^COPY (\w+) \1$", CONTAINERFILE, flags=re.MULTILINE)) == packages
    described = project["project"]
    files = {"pyproject.toml", "setup.py", described["readme"], *described["license-files"]}
    (copied,) = re.findall(r"^COPY (pyproject.*) \./$", CONTAINERFILE, flags=re.MULTILINE)
    assert set(copied.split()) == files


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    tree = tmp_path / "tree"
    (tree / "bin").mkdir(parents=True)
    for name in ("b", "a"):
        (tree / "bin" / name).write_text(name * 1000)
    (tree / "bin" / "a").chmod(0o755)
    (tree / "link").symlink_to("bin/a")
    return tree


def written(directory: Path, tree: Path) -> Path:
    directory.mkdir()
    blobs = Blobs(directory / "layout", EPOCH)
    layer = blobs.add_layer(tree, "a test")
    write_layout(
        directory / "layout", blobs, Image("kafka-log-shipper", "1.0", "amd64", {"User": "1000:0"}, [layer]), EPOCH
    )
    pack(directory / "layout", directory / "image.tar", EPOCH)
    return directory / "image.tar"


def test_two_builds_of_one_tree_are_equal(tree: Path, tmp_path: Path) -> None:
    first = written(tmp_path / "1", tree).read_bytes()
    for path in sorted(tree.rglob("*")):
        path.touch()
    assert written(tmp_path / "2", tree).read_bytes() == first


def test_every_document_names_its_blobs_by_digest_and_size(tree: Path, tmp_path: Path) -> None:
    written(tmp_path / "1", tree)
    layout = tmp_path / "1" / "layout"

    def blob(descriptor: dict[str, Any]) -> bytes:
        algorithm, _, digest = descriptor["digest"].partition(":")
        data: bytes = (layout / "blobs" / algorithm / digest).read_bytes()
        assert (len(data), hashlib.sha256(data).hexdigest()) == (descriptor["size"], digest)
        return data

    (named,) = json.loads((layout / "index.json").read_text())["manifests"]
    manifest = json.loads(blob(named))
    config = json.loads(blob(manifest["config"]))
    (layer,) = manifest["layers"]
    blob(layer)
    assert (config["architecture"], config["os"], config["config"]) == ("amd64", "linux", {"User": "1000:0"})
    assert json.loads((layout / "oci-layout").read_text()) == {"imageLayoutVersion": "1.0.0"}
    with tarfile.open(layout / "blobs" / "sha256" / layer["digest"].partition(":")[2]) as archive:
        members = {member.name: (member.mode & 0o777, member.mtime <= EPOCH) for member in archive}
        assert list(members) == ["bin", "bin/a", "bin/b", "link"]
        assert members["bin/a"] == (0o755, True)
        content = archive.extractfile("bin/b")
        assert content is not None
        assert content.read() == b"b" * 1000
