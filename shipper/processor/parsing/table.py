"""Which class does the work of which configuration: what takes a text apart."""

from shipper.processor.base import Table

TABLE: Table = {}
