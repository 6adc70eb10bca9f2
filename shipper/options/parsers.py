"""`parsers` of an input, which turn lines into messages; each item is one parser under its name."""

from log_shipper.config.yaml.deferred import Catalog
from log_shipper.config.yaml.schema import NamedItems

PARSERS = NamedItems("parser", "multiline", Catalog("log_shipper.shipper.parsers"))
