from log_shipper.shipper.options.processors import PROCESSORS
from log_shipper.shipper.processor.factory import ASYNC, OF_CONTEXT, OF_OPTIONS


def test_every_processor_that_has_options_is_in_one_of_the_tables() -> None:
    tables = [*OF_OPTIONS, *OF_CONTEXT, *ASYNC]
    assert {model for model in PROCESSORS.models.values() if not hasattr(model, "build")}.difference(tables) == set()
    assert len(set(tables)) == len(tables)
