"""The commands of docs/guides/search.md, as they are written there, on the lines that the page is about."""

import re
import shlex
from datetime import datetime
from pathlib import Path

import pytest

from log_shipper.spark_sink.records.schema import LINES
from tests.unit.spark_sink.search.search_lab import Table, line, run

PAGE = (Path(__file__).parents[4] / "docs" / "guides" / "search.md").read_text()
COMMANDS = re.findall(r"^spark-sink search ([^\n]*?)(?:  +#[^\n]*| \|[^\n]*)?$", PAGE, re.MULTILINE)
CONFIG = "kafka: {{hosts: [a:1], topics: [logs]}}\ncheckpoint.path: {root}/c\ntable.path: {root}/logs\n"

FAILED, FULL, NO_ANSWER = "GET /cart 500", "ERROR disk full", "ERROR no answer"
EXPECTED = {
    "-c sink.yml 'no answer'": [NO_ANSWER],
    "-c sink.yml error --since 15m --host web-1 --path '*.log'": [],
    "-c sink.yml --regex 'GET .* 50[0-9]$' --since 2026-10-05 --until 2026-10-05T12:00": [FAILED],
    "-c sink.yml --where \"(doc ->> '$.http.response.status_code')::INT >= 500 AND fields ->> 'env' = 'prod'\"": [
        FAILED
    ],
    "-c sink.yml 'no answer' --context 3": ["login of ada", FAILED, NO_ANSWER, FULL],
    "-c sink.yml error --follow": [NO_ANSWER, FULL],
    "-c sink.yml login --json --limit 0": ["login of ada"],
    "--table /data/logs -i 'Error'": [FULL, NO_ANSWER],
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    messages = ("login of ada", FAILED, NO_ANSWER, FULL)
    doc, fields = '{"http":{"response":{"status_code":500}}}', '{"env":"prod"}'
    noon = datetime.fromisoformat("2026-10-05T09:30:00+00:00")
    rows = [
        line(text, ts=noon.replace(second=number), number=number, path="/var/log/shop.log")
        | ({"doc": doc, "fields": fields} if text == FAILED else {})
        for number, text in enumerate(messages)
    ]
    table = Table(tmp_path / "logs", LINES)
    table.land([{name: row[name] for name in row if name != "status"} for row in rows])
    (tmp_path / "sink.yml").write_text(CONFIG.format(root=tmp_path))
    return tmp_path


def test_every_command_of_the_page_is_run() -> None:
    assert list(EXPECTED) == COMMANDS


@pytest.mark.parametrize("command", EXPECTED)
def test_a_command_finds_what_the_page_promises(command: str, root: Path) -> None:
    words = [
        {"sink.yml": str(root / "sink.yml"), "/data/logs": str(root / "logs")}.get(word, word)
        for word in shlex.split(command)
    ]
    printed = run(words)
    messages = [row["message"] for row in printed.rows] if "--json" in words else printed.messages
    assert messages == EXPECTED[command]
