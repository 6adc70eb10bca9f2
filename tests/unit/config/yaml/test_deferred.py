"""Models that are imported when they are needed."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from log_shipper.config.yaml.deferred import Catalog, Deferred

MODELS = Deferred(
    "log_shipper.config.yaml", {"place": "errors:Place", "spot": "report:Spot", "none": "missing:Nothing"}
)


def test_a_model_is_the_class_of_its_module() -> None:
    from log_shipper.config.yaml.report import Spot

    assert MODELS["spot"] is Spot
    assert MODELS.get("other") is None


def test_the_names_are_known_without_an_import() -> None:
    assert list(MODELS) == ["place", "spot", "none"]
    assert ("none" in MODELS, "other" in MODELS, len(MODELS)) == (True, False, 3)
    with pytest.raises(ModuleNotFoundError, match=r"config\.yaml\.missing"):
        MODELS["none"]


def test_a_catalog_has_a_model_for_each_module_of_a_package(tmp_path: Path, package: str) -> None:
    (tmp_path / package / "add_tags.py").write_text("class AddTagsConfig:\n    name = 'add_tags'\n")
    (tmp_path / package / "broken.py").write_text("1 / 0\n")
    models = Catalog(package)
    assert (list(models), len(models)) == (["add_tags", "broken"], 2)
    assert ("broken" in models, "none" in models, models.get("none")) == (True, False, None)
    assert models["add_tags"].name == "add_tags"


@pytest.fixture
def package(tmp_path: Path) -> Iterator[str]:
    """A package of this test alone, empty."""
    name = f"models_{tmp_path.name}".replace("-", "_")
    (tmp_path / name).mkdir()
    (tmp_path / name / "__init__.py").touch()
    sys.path.insert(0, str(tmp_path))
    yield name
    sys.path.remove(str(tmp_path))
