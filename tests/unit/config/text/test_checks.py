import pytest

from log_shipper.config.text.checks import not_blank, without_blanks
from tests.config_lab import ConfigLab


def test_a_name_that_is_empty_or_holds_a_nul_is_refused() -> None:
    assert list(not_blank("a b")) == []
    assert list(not_blank(" \t")) == [("", "is empty")]
    assert list(not_blank("a\0b")) == [("", r"'a\x00b' contains a NUL character")]


def test_of_several_names_each_that_is_wrong_is_named() -> None:
    assert list(without_blanks(())) == [("", "must not be empty")]
    assert list(without_blanks(("a", "", "\0"))) == [("[1]", "is empty"), ("[2]", r"'\x00' contains a NUL character")]


@pytest.mark.parametrize(
    ("option", "path"),
    [
        (r'shipper.inputs.0.paths=["/a\0b"]', ".paths[0]"),
        (r'shipper.inputs.0.file_identity.inode_marker.path="\0"', ".file_identity.inode_marker.path"),
        (r'path.data="a\0b"', "path.data"),
    ],
)
def test_a_path_that_no_system_knows_is_a_mistake(lab: ConfigLab, option: str, path: str) -> None:
    assert any(f"{path}: " in problem and "contains a NUL" in problem for problem in lab.problems_with("", [option]))
