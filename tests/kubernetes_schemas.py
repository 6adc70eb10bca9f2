"""Kubernetes' own JSON schemas, which script/tools fetches: strict ones, that accept no unknown field."""

import json
import os
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.json_schemas import refusals

_CACHE = Path(os.environ.get("SHIPPER_CACHE", Path(__file__).parents[1] / ".cache"))
RELEASES = ("1.29", "1.37")  # the first one that has native sidecars without being asked, and the newest

needs_schemas = pytest.mark.skipif(
    not all((_CACHE / "tools" / f"kubernetes-{release}.json").exists() for release in RELEASES),
    reason="no schemas of Kubernetes: run script/tools",
)


def mistakes(document: dict[str, Any], release: str) -> list[str]:
    """Return what Kubernetes of that release would refuse in a manifest."""
    schemas = _schemas(release)
    reference = {"$ref": f"#/$defs/{_name_of(document, release)}", "$defs": schemas["$defs"]}
    return [f"{document['kind']} {refusal}" for refusal in refusals(reference, document)]


@cache
def _schemas(release: str) -> dict[str, Any]:
    return json.loads((_CACHE / "tools" / f"kubernetes-{release}.json").read_text())  # type: ignore[no-any-return]


def _name_of(document: dict[str, Any], release: str) -> str:
    group, _, version = document["apiVersion"].rpartition("/")
    ending = f".{group.partition('.')[0] or 'core'}.{version}.{document['kind']}"
    names: list[str] = [name for name in _schemas(release)["$defs"] if name.endswith(ending)]
    (name,) = (name for name in names if name.startswith("io.k8s.api."))
    return name
