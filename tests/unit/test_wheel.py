"""What the wheel has: the packages of the product, whole, and nothing of the demo, the benchmark or the tests."""

import fnmatch
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PRODUCT = ("config", "durable", "kafka_client", "logs", "monitor", "registry", "service", "shipper", "spark_sink")

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
SETUPTOOLS = PROJECT["tool"]["setuptools"]
FIND = SETUPTOOLS["packages"]["find"]


def is_found(package: str) -> bool:
    """As setuptools decides it: `*` matches dots as well."""
    return any(fnmatch.fnmatchcase(package, pattern) for pattern in FIND["include"])


def packages(top: str) -> set[str]:
    """All packages below a directory, its own included; a directory without `__init__.py` is not one."""
    return {".".join(path.parent.relative_to(ROOT).parts) for path in (ROOT / top).rglob("__init__.py")}


@pytest.mark.parametrize("top", PRODUCT)
def test_every_directory_of_the_product_is_a_package_of_the_wheel(top: str) -> None:
    directories = {".".join(path.parent.relative_to(ROOT).parts) for path in (ROOT / top).rglob("*.py")}
    assert directories == packages(top), "setuptools finds only directories with an __init__.py"
    assert [name for name in directories if not is_found(name)] == []


def test_no_other_package_is_in_the_wheel() -> None:
    others = [path.name for path in ROOT.iterdir() if path.is_dir() and path.name not in PRODUCT]
    assert {"bench", "demo", "tests"} <= set(others)
    assert [name for top in others for name in packages(top) | {top} if is_found(name)] == []
    assert FIND["namespaces"] is False, "else a directory without an __init__.py would count, as build/ or docs/"


@pytest.mark.parametrize("top", PRODUCT)
def test_every_other_file_of_the_product_is_package_data(top: str) -> None:
    patterns = SETUPTOOLS["package-data"].get(top, [])
    packaged = {path for pattern in patterns for path in (ROOT / top).glob(pattern)}
    files = [path for path in (ROOT / top).rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    assert [path for path in files if path.suffix != ".py" and path not in packaged] == []


def test_the_commands_of_the_wheel_are_in_its_packages() -> None:
    modules = [target.partition(":")[0] for target in PROJECT["project"]["scripts"].values()]
    assert [name for name in modules if not is_found(name.rpartition(".")[0])] == []
