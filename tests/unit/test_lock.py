"""What requirements/*.lock promise: everything that is needed, in versions that pyproject.toml takes, with hashes."""

import json
import re
import subprocess
import sys
import tomllib
from functools import cache
from importlib.metadata import PackageNotFoundError, requires
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
EXTRAS: dict[str, tuple[str, ...]] = {
    "base": (),
    "sink": ("sink",),
    "search": ("search",),
    "jre": ("jre",),
    "dev": ("sink", "search", "aws-msk-iam", "dev"),
}
PINNED = re.compile(r"^([A-Za-z0-9._-]+)==(\S+) \\\n((?:    --hash=sha256:[0-9a-f]{64}(?: \\)?\n)+)", re.MULTILINE)
AGAIN = "run script/lock"


def text_of(name: str) -> str:
    return (ROOT / "requirements" / f"{name}.lock").read_text()


def locked(name: str) -> dict[str, str]:
    """Return the versions by package."""
    return {canonicalize_name(package): version for package, version, _ in PINNED.findall(text_of(name))}


@cache
def project() -> dict[str, Any]:
    project: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return project


@pytest.mark.parametrize("name", EXTRAS)
def test_each_line_is_a_version_with_its_hashes_and_no_place_of_this_machine(name: str) -> None:
    rest = PINNED.sub("", text_of(name))
    assert [line for line in rest.splitlines() if line and not line.startswith("#")] == []
    assert re.findall(r"https?:|index-url|find-links|trusted-host|/tmp", text_of(name)) == []


@pytest.mark.parametrize("name", EXTRAS)
def test_what_the_project_needs_is_locked_in_a_version_that_it_takes(name: str) -> None:
    versions = locked(name)
    needed = [*project()["dependencies"]]
    for extra in EXTRAS[name]:
        needed += project()["optional-dependencies"][extra]
    for requirement in map(Requirement, needed):
        version = versions.get(canonicalize_name(requirement.name))
        assert version is not None, f"{requirement.name} is missing in {name}.lock: {AGAIN}"
        assert requirement.specifier.contains(version), f"{requirement} is not {version}, as in {name}.lock: {AGAIN}"


@pytest.mark.parametrize("name", EXTRAS)
def test_what_the_packages_need_in_their_turn_is_locked(name: str) -> None:
    versions = locked(name)
    missing = [
        f"{package} needs {requirement.name}"
        for package in versions
        for requirement in map(Requirement, needs(package))
        if requirement.marker is None or requirement.marker.evaluate({"extra": ""})
        if canonicalize_name(requirement.name) not in versions
    ]
    assert missing == [], AGAIN


def needs(package: str) -> list[str]:
    """Return what an installed package needs; nothing of one that is not installed here."""
    try:
        return requires(package) or []
    except PackageNotFoundError:
        return []


def test_the_locks_agree() -> None:
    base, sink, search, jre, dev = map(locked, EXTRAS)
    assert base.items() <= sink.items() & search.items() & jre.items(), AGAIN
    assert sink.items() | search.items() <= dev.items(), AGAIN


def test_the_lowest_versions_are_those_that_pyproject_takes() -> None:
    lines = (ROOT / "requirements" / "lowest.txt").read_text().splitlines()
    lowest = {canonicalize_name(name): version for name, _, version in (line.partition("==") for line in lines)}
    extras = project()["optional-dependencies"]
    needed = map(Requirement, [*project()["dependencies"], *extras["sink"], *extras["search"]])
    bounds = {canonicalize_name(item.name): at_least(item) for item in needed}
    assert lowest == bounds


def test_the_tests_with_other_versions_of_spark_have_the_lowest_and_the_newest_that_pyproject_takes() -> None:
    lowest, newest = (ROOT / "requirements" / "spark.txt").read_text().split()
    (spark,) = [item for item in map(Requirement, project()["optional-dependencies"]["sink"]) if item.name == "pyspark"]
    major, minor = map(int, newest.split(".")[:2])
    assert lowest == at_least(spark)
    assert [spark.specifier.contains(version) for version in (newest, f"{major}.{minor + 1}.0")] == [True, False]


def at_least(requirement: Requirement) -> str:
    return next(part.version for part in requirement.specifier if part.operator == ">=")


def vulnerable(report: dict[str, Any]) -> list[str]:
    """Return what is known to be vulnerable, by the report of pip-audit."""
    return [
        f"{package['name']} {package['version']}: {', '.join(fault['id'] for fault in package['vulns'])}"
        for package in report["dependencies"]
        if package.get("vulns")
    ]


def not_looked_up(report: dict[str, Any]) -> list[str]:
    """Return why packages were not looked up. pip-audit ends with 0 all the same, also if it could look up none."""
    return [package["skip_reason"] for package in report["dependencies"] if "skip_reason" in package]


def test_a_report_without_answers_is_no_good_news() -> None:
    fault = {"id": "PYSEC-1", "fix_versions": [], "description": ""}
    report = {
        "dependencies": [
            {"name": "a", "version": "1", "vulns": []},
            {"name": "b", "version": "2", "vulns": [fault]},
            {"name": "c", "skip_reason": "Dependency not found on PyPI and could not be audited: c (3)"},
        ]
    }
    assert vulnerable(report) == ["b 2: PYSEC-1"]
    assert not_looked_up(report) == ["Dependency not found on PyPI and could not be audited: c (3)"]


@pytest.mark.slow("asks a service on the network, whose answer changes from day to day")
def test_nothing_that_users_install_is_known_to_be_vulnerable() -> None:
    files = [part for name in EXTRAS if name != "dev" for part in ("-r", str(ROOT / "requirements" / f"{name}.lock"))]
    command = [
        sys.executable,
        "-m",
        "pip_audit",
        "-s",
        "pypi",
        "--require-hashes",
        "--disable-pip",
        "-f",
        "json",
        *files,
    ]
    audit = subprocess.run(command, capture_output=True, text=True, timeout=300)
    if not audit.stdout:
        pytest.skip(f"pip-audit got no answer: {audit.stderr.strip().splitlines()[-1:]}")
    report = json.loads(audit.stdout)
    unknown = not_looked_up(report)
    if len(unknown) == len(report["dependencies"]):
        pytest.skip(f"the service that pip-audit asks is not reachable: {unknown[0]}")
    assert (vulnerable(report), unknown) == ([], [])
