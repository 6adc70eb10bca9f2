from config.shipper.processors import PROCESSORS
from shipper.processor.factory import ASYNC, OF_CONTEXT, OF_OPTIONS


def test_every_processor_that_has_options_can_be_made() -> None:
    tables = [*OF_OPTIONS, *OF_CONTEXT, *ASYNC]
    assert sorted(model.__name__ for model in tables) == sorted(model.__name__ for model in PROCESSORS.models.values())
