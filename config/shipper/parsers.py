"""How lines become messages: `parsers` of an input, each item one parser under its name."""

from config.shipper.container_parser import ContainerConfig
from config.shipper.multiline import MultilineConfig
from config.shipper.ndjson import IncludeMessageConfig, NdjsonConfig
from config.shipper.syslog_parser import SyslogConfig
from config.yaml.schema import Named

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
