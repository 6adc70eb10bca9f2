"""Which table each record goes to."""

import pytest

from tests.unit.spark_sink.rows.converting import conversion, kafka_records, reasons_of, rows_of

LACKS = "missing fields.service, needed by table.path to choose the table"

# A value of fields.service -> its directory; None where there is none
VALUES: dict[str, str | None] = {
    '"shop"': "shop",
    '"Shop-1.0_b"': "Shop-1.0_b",
    '"a/b"': "a_b",
    '"../../etc"': "__.._etc",
    '".."': "_",
    '"."': "_",
    '".hidden"': "_hidden",
    '"_delta_log"': "_delta_log_",
    '"größe ☃"': "gr__e__",
    '"it\'s"': "it_s",
    '"{curly}"': "_curly_",
    f'"{"a" * 300}"': "a" * 128,
    "7": "7",
    "true": "true",
    '""': None,
    "null": None,
    "{}": None,
    '["a"]': None,
}


# As Spark writes numbers.
NUMBERS = {
    "1.50": "1.5",
    "100.0": "100",
    "-0.0": "0",
    "1e3": "1000.0",
    "1E-7": "1.0E-7",
    "12345678e0": "1.2345678E7",
    "1e999": "Infinity",
    "9223372036854775808": "9223372036854775808",
    "1" * 40: "1.1111111111111112E39",
}


def record(service: str | None) -> bytes:
    fields = f',"fields":{{"service":{service}}}' if service is not None else ""
    return ('{"@timestamp":"2026-11-21T09:30:00.123Z"' + fields + "}").encode()


@pytest.mark.parametrize("value", VALUES)
def test_a_value_becomes_one_directory(value: str) -> None:
    directory = VALUES[value]
    converted = conversion("/data/%{[fields.service]}/lines").convert(kafka_records([record(value)]))
    if directory is None:
        assert reasons_of(converted) == {0: LACKS}
    else:
        assert [part.table for part in converted.parts] == [f"/data/{directory}/lines"]


@pytest.mark.parametrize("value", NUMBERS)
def test_a_number_is_written_as_spark_writes_it(value: str) -> None:
    (part,) = conversion("/data/%{[fields.service]}").convert(kafka_records([record(value)])).parts
    assert part.table == f"/data/{NUMBERS[value]}"


def test_what_lacks_the_field_goes_by_the_default_and_every_topic_has_its_table() -> None:
    values = [record(service) for service in (None, '"shop"', "{}")]
    rows = rows_of(conversion("s3a://it's/%{[topic]}-%{[fields.service]:missing}").convert(kafka_records(values)))
    assert [rows[offset]["table"] for offset in range(3)] == [
        "s3a://it's/logs-missing",
        "s3a://it's/logs-shop",
        "s3a://it's/logs-missing",
    ]


def test_a_member_that_no_record_has_is_missing() -> None:
    converted = conversion("/data/%{[kubernetes.pod]}").convert(kafka_records([record(None)]))
    assert reasons_of(converted) == {0: "missing kubernetes.pod, needed by table.path to choose the table"}
