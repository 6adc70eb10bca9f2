"""registered_domain: the registered part of a host's name."""

import time

import pytest

from tests.processing import processed

CHAIN = "- registered_domain: {field: a, target_field: r, target_etld_field: e, target_subdomain_field: s"


def domains(name: str | int, options: str = "") -> tuple[list[str | None], str | None]:
    (record,) = processed(f"{CHAIN}{options}}}", {"message": "x", "a": name})
    assert record["a"] == name
    return [record.get(key) for key in ("r", "e", "s")], record.get("error", {}).get("type")


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("www.google.co.uk", ["google.co.uk", "co.uk", "www"]),
        ("google.com", ["google.com", "com", None]),
        ("a.b.example.org", ["example.org", "org", "a.b"]),
        ("WWW.Example.ORG", ["Example.ORG", "ORG", "WWW"]),
        ("x.y.github.io", ["y.github.io", "github.io", "x"]),
        ("host.internal", ["host.internal", "internal", None]),
        ("a.b.ck", ["a.b.ck", "b.ck", None]),
        ("www.ck", ["www.ck", "ck", None]),
        ("a.İx.com", ["İx.com", "com", "a"]),  # lower case has one more character
    ],
)
def test_takes_names_apart(name: str, found: list[str | None]) -> None:
    assert domains(name) == (found, None)


@pytest.mark.parametrize(
    "name", ["com", "co.uk", "", ".", "a..com", ".example.org", "example.org.", 7, "a." * 150 + "com"]
)
def test_what_is_below_no_domain_is_an_error_unless_ignored(name: str | int) -> None:
    begun = time.process_time()
    assert domains(name) == ([None] * 3, "registered_domain")
    assert domains(name, ", ignore_failure: true") == ([None] * 3, None)
    assert time.process_time() - begun < 5


def test_a_field_that_is_not_there_can_be_ignored() -> None:
    (first,) = processed("- registered_domain: {field: a, target_field: r}", {"message": "x"})
    (second,) = processed("- registered_domain: {field: a, target_field: r, ignore_missing: true}", {"message": "x"})
    assert "error" in first
    assert second == {"message": "x"}
