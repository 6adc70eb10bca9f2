"""Which class does the work of which configuration: what takes a text apart."""

from config.shipper.processors import parsing, times
from shipper.processor.base import Table
from shipper.processor.parsing.dissect import Dissect
from shipper.processor.parsing.grok import Grok
from shipper.processor.parsing.redact import Redact
from shipper.processor.parsing.syslog import Syslog
from shipper.processor.parsing.timestamp import Timestamp

TABLE: Table = {
    parsing.DissectConfig: lambda config, _: Dissect(config),
    parsing.GrokConfig: lambda config, _: Grok(config),
    parsing.RedactConfig: lambda config, _: Redact(config),
    times.SyslogProcessorConfig: lambda config, around: Syslog(config, around.clock),
    times.TimestampConfig: lambda config, around: Timestamp(config, around.clock),
}
