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

from deploy.container.contents import CONFIG, DATA, HERE, HOME, PACKAGES, SECOND, START
from deploy.container.layout import Blobs, Image, pack, write_layout
from deploy.debian.contents import ROOT

EPOCH = 1_700_000_000


def instructions() -> list[tuple[str, str]]:
    """Return name and arguments of each instruction in the last stage of the Containerfile."""
    text = (HERE / "Containerfile").read_text().rpartition("\nFROM ")[2].partition("\n")[2]
    lines = re.sub(r"\\\n\s*", "", re.sub(r"^#.*\n", "", text, flags=re.MULTILINE)).splitlines()
    return [(name, rest) for name, _, rest in (line.partition(" ") for line in lines if line)]


def given(name: str) -> list[str]:
    return [rest for instruction, rest in instructions() if instruction == name]


def test_an_engine_and_our_script_make_images_that_start_equally() -> None:
    assert given("USER") == [START["User"]]
    assert given("WORKDIR") == [START["WorkingDir"]] == [HOME]
    assert given("STOPSIGNAL") == [START["StopSignal"]]
    assert given("ENV") == START["Env"]
    assert [json.loads(text) for text in (*given("ENTRYPOINT"), *given("CMD"))] == [START["Entrypoint"], START["Cmd"]]
    labels = dict(shlex.split(text)[0].split("=", 1) for text in given("LABEL"))
    assert labels == START["Labels"]
    assert [f"{port}/tcp" for port in given("EXPOSE")] == list(START["ExposedPorts"])


def test_an_engine_and_our_script_make_images_that_are_probed_equally() -> None:
    (health,) = given("HEALTHCHECK")
    options, _, command = health.partition(" CMD ")
    times = {name: int(value) for name, value in re.findall(r"--([\w-]+)=(\d+)", options)}
    made = START["Healthcheck"]
    assert ["CMD", *json.loads(command)] == made["Test"]
    assert (times["retries"], times["interval"] * SECOND) == (made["Retries"], made["Interval"])
    assert (times["timeout"] * SECOND, times["start-period"] * SECOND) == (made["Timeout"], made["StartPeriod"])


def test_an_engine_and_our_script_install_the_same() -> None:
    installed = next(text for text in given("RUN") if "apt-get install" in text)
    names = {name.rstrip("1234567890.") for name in PACKAGES}
    assert {word for word in installed.replace("python3", "python").split() if word in names} == names
    copied = {text.split()[-2]: text.split()[-1] for text in given("COPY")}
    assert copied["deploy/container/shipper.yml"] == CONFIG
    assert copied["deploy/container/entrypoint.sh"] == f"/usr/bin/{START['Entrypoint'][0]}"
    made = next(text for text in given("RUN") if "ln -s" in text)
    for part in (f"-m 0775 {DATA}", f"-m 0775 {HOME}", f"ln -s {DATA} {HOME}/data", "ln -s shipper /usr/bin/filebeat"):
        assert part in made


def test_the_containerfile_copies_every_package_of_the_wheel() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    packages = set(project["tool"]["setuptools"]["package-dir"].values())
    text = (HERE / "Containerfile").read_text()
    assert set(re.findall(r"^COPY (\w+) \1$", text, flags=re.MULTILINE)) == packages
    described = project["project"]
    files = {"pyproject.toml", "setup.py", described["readme"], *described["license-files"]}
    (copied,) = re.findall(r"^COPY (.*) \./$", text, flags=re.MULTILINE)
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
