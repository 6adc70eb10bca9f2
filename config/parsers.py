"""How lines become messages: `parsers` of an input, each item one parser under its name."""

from config import filebeat
from config.multiline import MultilineConfig
from config.schema import Named

ParserConfig = MultilineConfig
PARSERS = Named("parser", {"multiline": MultilineConfig}, not_yet=filebeat.PARSER_NOT_YET)
