"""Which class does the work of which configuration: what sets, moves and drops fields and events."""

from shipper.processor.base import Table

TABLE: Table = {}
