"""What is supported must not be left among the names of Filebeat that are not supported, or ignored (filebeat.py)."""

from collections.abc import Iterator
from typing import Any

import pytest

from log_shipper.config.yaml.names import Names
from log_shipper.config.yaml.schema import NamedItems, leaves, options
from log_shipper.shipper.options.model import INPUT_KINDS, ShipperConfig
from log_shipper.shipper.options.parsers import PARSERS
from log_shipper.shipper.options.processors import PROCESSORS


def models_below(model: Any, seen: set[Any]) -> Iterator[Any]:
    if model is None or model in seen:
        return
    seen.add(model)
    yield model
    for option in options(model):
        kinds = option.kinds.models.values() if option.kinds else ()
        named = option.named_items.models.values() if option.named_items else ()
        for below in (option.section, *kinds, *named):
            yield from models_below(below, seen)


def test_no_option_is_also_an_unsupported_or_ignored_one() -> None:
    models = list(models_below(ShipperConfig, set()))
    assert len(models) > len(PROCESSORS.models) + len(PARSERS.models)
    both = {
        model.__name__: {*leaves(model), *(key for option in options(model) for key in option.keys)}
        & {*getattr(model, "not_yet", {}), *getattr(model, "ignored", {})}
        for model in models
    }
    assert {name: names for name, names in both.items() if names} == {}


@pytest.mark.parametrize("named", [PROCESSORS, PARSERS], ids=["processors", "parsers"])
def test_no_name_is_also_an_unsupported_or_ignored_one(named: NamedItems) -> None:
    assert named.models.keys() & {*named.not_yet, *named.ignored} == set()


def test_no_type_of_input_is_also_an_unsupported_one() -> None:
    assert INPUT_KINDS.models.keys() & INPUT_KINDS.not_yet.keys() == set()


def test_no_option_of_a_type_of_input_is_the_beginning_of_one_of_another_type() -> None:
    """A section is read without a look at the other types, which are imported only for a name that is unknown here."""
    for model in INPUT_KINDS.models.values():
        names = Names.for_model(model, INPUT_KINDS)
        beginnings = {name for name in names.others if Names.for_model(model).is_beginning(name)}
        assert beginnings - {*names.not_yet, *names.ignored} == set(), model
