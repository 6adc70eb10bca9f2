"""How lines become messages: `parsers` of an input, each item one parser under its name."""

from config.container_parser import ContainerConfig
from config.multiline import MultilineConfig
from config.ndjson import IncludeMessageConfig, NdjsonConfig
from config.schema import Named
from config.syslog_parser import SyslogConfig

ParserConfig = MultilineConfig | NdjsonConfig | IncludeMessageConfig | ContainerConfig | SyslogConfig
PARSERS = Named(
    "parser",
    {
        "multiline": MultilineConfig,
        "ndjson": NdjsonConfig,
        "include_message": IncludeMessageConfig,
        "container": ContainerConfig,
        "syslog": SyslogConfig,
    },
)
