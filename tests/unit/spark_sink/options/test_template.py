"""The table's path as a template."""

import re

import pytest

from log_shipper.spark_sink.options.template import Template, TemplateField, parse_template


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("/data/logs", ("/data/logs",)),
        ("/d/%{[topic]}", ("/d/", TemplateField("topic"))),
        ("/d/%{[fields.service]:other}/x", ("/d/", TemplateField("fields.service", "other"), "/x")),
        ("/d/%{[fields][service]}-%{[topic]}", ("/d/", TemplateField("fields.service"), "-", TemplateField("topic"))),
        ("/d/%{ [a.b] :x-1.y}", ("/d/", TemplateField("a.b", "x-1.y"))),
        ("%{[a]}%{[b]}", (TemplateField("a"), TemplateField("b"))),
        ("", ()),
    ],
)
def test_fields_stand_in_it_as_in_filebeats_format_strings(text: str, parts: tuple[str | TemplateField, ...]) -> None:
    assert parse_template(text) == Template(parts)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("/d/%{topic}", "'%{topic}' names no field; write '%{[topic]}' or '%{[fields.service]:other}'"),
        ("/d/%{}", "'%{}' names no field"),
        ("/d/%{[]}", "'%{[]}' names no field"),
        ("/d/%{[a]b}", "'%{[a]b}' names no field"),
        ("/d/%{[topic]", "'%{[topic]' has no closing brace; write '%{[topic]}'"),
        ("/d/%{[a.]}", "'%{[a.]}': 'a.' is not a field name"),
        (
            "/d/%{[a]:}",
            "'%{[a]:}': the default of this field must be one directory name: letters, digits, '_', '-', and '.' "
            "except at its beginning, not ''",
        ),
        (
            "/d/%{[a]:b/c}",
            "the default of this field must be one directory name: letters, digits, '_', '-', and '.' except at its "
            "beginning, not 'b/c'",
        ),
        ("/d/%{[a]:..}", "not '..'"),
        ("/d/%{[a]:.x}", "not '.x'"),
        ("/d/%{[a]: x}", "not ' x'"),
        ("/d/%{+yyyy.MM}", "'%{+yyyy.MM}': a path cannot contain times; within a table, `date` separates the days"),
        (
            "/d/{topic}",
            "'/d/{topic}' has '{' or '%[' where no field begins. Write a field as '%{[topic]}'; a path cannot contain "
            "another '{'",
        ),
        ("/d/%[topic]", "'/d/%[topic]' has '{' or '%['"),
    ],
)
def test_an_invalid_field_is_reported(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        parse_template(text)


@pytest.mark.parametrize(
    ("text", "base", "directory"),
    [
        ("/data/logs/%{[topic]}", "/data/logs", "/data/logs"),
        ("/data/logs-%{[topic]}/x", "/data/logs", "/data"),
        ("s3a://lake/logs/%{[a]:b}", "s3a://lake/logs", "s3a://lake/logs"),
        ("%{[topic]}", "", ""),
        ("/data/logs/", "/data/logs", "/data/logs"),
        ("/data/logs.v1-", "/data/logs.v1-", "/data"),
    ],
)
def test_the_other_tables_are_named_after_the_text_before_the_first_field(text: str, base: str, directory: str) -> None:
    template = parse_template(text)
    assert (template.base, template.directory) == (base, directory)


@pytest.mark.parametrize(
    ("topics", "path", "matches"),
    [
        ((), "/d/a.b/x", True),
        ((), "/d/a/b/x", False),
        ((), "/d//x", False),
        (("a.b", "c"), "/d/a.b/x", True),
        (("a.b", "c"), "/d/aXb/x", False),
    ],
)
def test_its_pattern_knows_the_paths_of_its_tables(topics: tuple[str, ...], path: str, matches: bool) -> None:
    assert bool(parse_template("/d/%{[topic]}/x").pattern(topics).fullmatch(path)) is matches
