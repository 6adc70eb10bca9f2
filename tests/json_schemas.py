"""Validation by jsonschema. To import it takes two seconds, which collecting the tests does not pay for."""

from typing import Any


def check_schema(schema: dict[str, Any]) -> None:
    """Raise an error unless it is a schema of draft 2020-12."""
    from jsonschema import Draft202012Validator

    Draft202012Validator.check_schema(schema)


def refusals(schema: dict[str, Any], document: object) -> list[str]:
    """Return what the schema refuses in the document: where, and why."""
    from jsonschema import Draft202012Validator

    errors = Draft202012Validator(schema).iter_errors(document)
    return [f"{error.json_path}: {error.message}" for error in errors]
