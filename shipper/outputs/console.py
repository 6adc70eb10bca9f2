"""`output.console`: records on standard output."""

from log_shipper.shipper.options.model import ShipperConfig
from log_shipper.shipper.output.base import Output
from log_shipper.shipper.output.console import ConsoleOutput
from log_shipper.shipper.outputs.codecs import make_codec, records_of_codec
from log_shipper.shipper.outputs.context import OutputContext
from log_shipper.shipper.outputs.kinds import OutputKind
from log_shipper.shipper.outputs.record_limit import UNLIMITED


def _open(config: ShipperConfig, context: OutputContext) -> Output:
    return ConsoleOutput(make_codec(config.output.chosen.codec, UNLIMITED), context.publisher)


KIND = OutputKind(
    describe=lambda config: "console",
    open=_open,
    check=lambda config, step: step("console: standard output"),
    records=records_of_codec,
    is_stdout=True,
)
