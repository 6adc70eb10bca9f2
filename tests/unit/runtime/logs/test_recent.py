import logging

import pytest

from log_shipper.runtime.logs.recent import RecentMessages


def refuse(text: str) -> str:
    raise LookupError(text)


@pytest.mark.parametrize(
    ("handler", "arguments"),
    [
        pytest.param(RecentMessages(str), ("no answer for %d s", "ten"), id="of another type"),
        pytest.param(RecentMessages(str), ("down", "kafka-1"), id="too many"),
        pytest.param(RecentMessages(refuse), ("down",), id="a text that cannot be shown"),
        pytest.param(RecentMessages(str, refuse), ("down",), id="a text without a kind"),
    ],
)
def test_a_message_that_cannot_be_kept_is_reported_and_disturbs_no_one(
    handler: RecentMessages, arguments: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    logger = logging.Logger("shipper")
    logger.addHandler(handler)
    logger.warning(*arguments)
    assert "--- Logging error ---" in capsys.readouterr().err
    assert handler.newest_first() == []
