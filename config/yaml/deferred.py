"""Models that are imported on demand: creating one takes half a millisecond, and a configuration uses few."""

import pkgutil
from collections.abc import Iterator, Mapping
from functools import cached_property
from importlib import import_module
from typing import Any


def model_at(place: str) -> Any:
    """Return the model at a place such as "package.adding:AddTagsConfig"."""
    module, _, model = place.partition(":")
    return getattr(import_module(module), model)


class Deferred(Mapping[str, Any]):
    """Models by name, each given as module and class within a package, as in "adding:AddTagsConfig". The names are
    known without importing anything.
    """

    def __init__(self, package: str, classes: Mapping[str, str]) -> None:
        self._package = package
        self._classes = classes

    def __getitem__(self, name: str) -> Any:
        return model_at(f"{self._package}.{self._classes[name]}")

    def __contains__(self, name: object) -> bool:
        return name in self._classes  # the inherited method would import the model

    def __iter__(self) -> Iterator[str]:
        return iter(self._classes)

    def __len__(self) -> int:
        return len(self._classes)


class Catalog(Mapping[str, Any]):
    """The models of a package, one per module, which is named as the model is in YAML (its `name`)."""

    def __init__(self, package: str) -> None:
        self._package = package

    @cached_property
    def _names(self) -> dict[str, None]:
        return {module.name: None for module in pkgutil.iter_modules(import_module(self._package).__path__)}

    def __getitem__(self, name: str) -> Any:
        if name not in self._names:
            raise KeyError(name)
        module = import_module(f"{self._package}.{name}")
        own = [value for value in vars(module).values() if getattr(value, "__module__", None) == module.__name__]
        return next(model for model in own if getattr(model, "name", None) == name)

    def __contains__(self, name: object) -> bool:
        return name in self._names  # the inherited method would import the model

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)
