"""Models that are imported when they are needed."""

import pytest

from log_shipper.config.yaml.deferred import Deferred

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
