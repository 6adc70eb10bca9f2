import json

from bench.appends import stamp_of
from bench.floor import HOLE, records, stamped_record


def test_the_floors_record_is_the_shippers_with_a_line_that_is_written_now() -> None:
    (template,) = records([HOLE])
    value = stamped_record(template)
    assert stamp_of(value.encode()) is not None
    assert json.loads(value) == json.loads(template) | {"message": json.loads(value)["message"]}
