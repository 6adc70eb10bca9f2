"""What a file is known by."""

from collections.abc import Callable

import pytest

from log_shipper.shipper.options.model import FileIdentityConfig
from tests.config_lab import ConfigLab
from tests.tables import rows

FINGERPRINT = "prospector.scanner.fingerprint"


@pytest.fixture
def identity(lab: ConfigLab) -> Callable[[str], FileIdentityConfig]:
    return lambda text: lab.load(lab.whole.replace("output.", f"    {text}\noutput.")).file_inputs[0].file_identity


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("", FileIdentityConfig("default", 0, 1024, "")),
        ("file_identity: ~", FileIdentityConfig("default")),
        ("file_identity.native: ~", FileIdentityConfig("native")),
        ("file_identity: {path: }", FileIdentityConfig("path")),
        ("file_identity.fingerprint: {}", FileIdentityConfig("fingerprint")),
        ("file_identity.fingerprint.growing: false", FileIdentityConfig("fingerprint")),
        ("file_identity.fingerprint.growing: true", FileIdentityConfig("fingerprint", growing=True)),
        (
            f"file_identity.fingerprint: ~\n    {FINGERPRINT}: {{enabled: true, offset: 10, length: 64}}",
            FileIdentityConfig("fingerprint", 10, 64),
        ),
        ("file_identity.inode_marker.path: /m", FileIdentityConfig("inode_marker", marker="/m")),
    ],
)
def test_one_section_says_what_a_file_is_known_by(
    identity: Callable[[str], FileIdentityConfig], written: str, read: FileIdentityConfig
) -> None:
    assert identity(written) == read


@pytest.mark.parametrize("type", ["log", "container"])
def test_the_older_inputs_have_the_same_choice(lab: ConfigLab, type: str) -> None:
    text = f"shipper.inputs: [{{type: {type}, paths: [x], file_identity.path: ~}}]\noutput.console:\n"
    assert lab.load(text).file_inputs[0].file_identity == FileIdentityConfig("path")


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        *rows("""
        file_identity: {native: ~, path: ~}
            -> file_identity.path: conflicts with file_identity.native; set only one of them
        file_identity.inode_markr: ~ -> file_identity.inode_markr: unknown option; did you mean 'inode_marker'?
        file_identity.fingerprint.growing: maybe -> file_identity.fingerprint.growing: 'maybe' must be true or false
        file_identity.native.x: 1 -> file_identity.native.x: unknown option; known here: none
        file_identity.inode_marker: ~
            -> file_identity.inode_marker.path: missing; name the marker file, as in 'path: /logs/.shipper-marker'
        file_identity.inode_marker.path: '' -> file_identity.inode_marker.path: is empty
        file_identity: native
            -> file_identity: must be a section of options (key: value), as in 'file_identity.native: ~'
        """),
        (
            "file_identity.fingerprint: ~\n    prospector.scanner.fingerprint.enabled: false",
            f"{FINGERPRINT}.enabled: must be true; file_identity.fingerprint needs it",
        ),
    ],
)
def test_a_mistake_in_it_is_named(lab: ConfigLab, line: str, problem: str) -> None:
    problems = lab.problems(lab.whole.replace("output.", f"    {line}\noutput."))
    at = 4 + line.count("\n")
    assert problems == [f"shipper.yml:{at}: shipper.inputs[0].{problem}"]


def test_fingerprints_may_be_off_where_nothing_needs_them(identity: Callable[[str], FileIdentityConfig]) -> None:
    assert identity(f"file_identity.native: ~\n    {FINGERPRINT}.enabled: false").name == "native"
