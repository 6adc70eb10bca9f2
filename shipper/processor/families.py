"""All processors: which class does the work of which configuration. Loaded with the first input that has processors."""

from shipper.processor.base import Table
from shipper.processor.changing import table as changing
from shipper.processor.decoding import table as decoding
from shipper.processor.metadata import table as metadata
from shipper.processor.parsing import table as parsing

TABLE: Table = {**changing.TABLE, **parsing.TABLE, **decoding.TABLE, **metadata.TABLE}
ASKING = metadata.ASKING
