"""Which class does the work of which configuration: what decodes and derives values."""

from shipper.processor.base import Table

TABLE: Table = {}
