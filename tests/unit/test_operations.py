"""The programs take the commands of the pages for operators, and those of the move from Filebeat are run."""

import json
import re
import shlex
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from log_shipper.shipper.cli import commands as cli
from log_shipper.spark_sink.__main__ import whole_parser

DOCS = Path(__file__).parents[2] / "docs"
GUIDES = DOCS / "guides"
PAGES = (
    DOCS / "reference" / "alerts.md",
    *(GUIDES / f"{name}.md" for name in ("backup", "dead-letters", "from-filebeat", "replay", "shipper", "sizing")),
    *(
        GUIDES / f"{name}.md"
        for name in ("sink", "sink-failures", "sink-maintenance", "sink-recovery", "sink-status", "upgrade")
    ),
)
PROGRAMS: dict[str, Callable[[list[str]], object]] = {
    "shipper": lambda words: cli.parse(words, {}),
    "spark-sink": lambda words: whole_parser().parse_args(words),
}
# Parts that are named with a program before them and are no command line.
NAMES = {"shipper top", "spark-sink search"}


def command_lines(text: str) -> Iterator[str]:
    """Yield the commands of our programs in blocks of the shell, and within sentences."""
    blocks = re.findall(r"^ *```sh\n(.*?)^ *```", text, re.DOTALL | re.MULTILINE)
    inline = re.findall(r"`([^`]+)`", re.sub(r"```.*?```", "", text, flags=re.DOTALL))
    for line in [line for block in blocks for line in block.splitlines()] + inline:
        command = re.split(r"[#|<>]|; ", " ".join(line.split()).removeprefix("/opt/kafka-log-shipper/bin/"))[0].strip()
        if re.match(r"(shipper|spark-sink) [a-z]", command) and command not in NAMES:
            yield command


COMMANDS = sorted({command for page in PAGES for command in command_lines(page.read_text())})


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_is_one_that_the_program_takes(command: str) -> None:
    program, *words = shlex.split(command)
    PROGRAMS[program](words)


def test_the_pages_have_the_commands_that_a_person_at_night_needs() -> None:
    named = " ".join(COMMANDS)
    for words in ("test config", "test output", "registry forget", "dead-letter resend", "repair -c", "run --once"):
        assert words in named


def test_the_figures_of_sizing_are_those_that_were_measured() -> None:
    figures = "".join((DOCS / "explained" / name).read_text() for name in ("figures.md", "figures-agent.md"))
    page = (GUIDES / "sizing.md").read_text()
    table = page[page.index("| lines a second |") : page.index("- **CPU**")]
    quoted = re.findall(r"(\d{3}),000 \||(\d+\.\d+) (?:%|µs)|(\d+) MB", table)
    numbers = ["".join(groups) for groups in quoted]
    assert len(numbers) > 10
    assert [number for number in numbers if not re.search(rf"\| {number} |, {number} MB", figures)] == []


class Host:
    """A host with Filebeat: its configuration in an old dialect, and a log of which it has shipped the first line."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.log = root / "app.log"
        self.log.write_text("one\ntwo\n")
        status = self.log.stat()
        (root / "filebeat.yml").write_text(
            f"filebeat.prospectors:\n- input_type: log\n  paths: ['{self.log}']\n"
            "output.kafka: {hosts: ['localhost:9092'], topic: logs}\n"
        )
        (root / "filebeat.yml").chmod(0o600)
        store = root / "filebeat" / "registry" / "filebeat"
        store.mkdir(parents=True)
        (store / "meta.json").write_text('{"version":"1"}')
        key = f"filebeat::logs::native::{status.st_ino}-{status.st_dev}"
        value = {"source": str(self.log), "offset": 4, "FileStateOS": {"inode": status.st_ino, "device": status.st_dev}}
        value |= {"ttl": -1, "type": "log", "timestamp": [1, 1], "identifier_name": "native", "id": key[16:]}
        lines = [{"op": "set", "id": 1}, {"k": key, "v": value}]
        (store / "log.json").write_text("".join(json.dumps(line) + "\n" for line in lines))

    def run(self, command: str, capsys: pytest.CaptureFixture[str]) -> str:
        """Run a command of the page here; return what it printed."""
        for there, here in {
            "/etc/filebeat/filebeat.yml": "filebeat.yml",
            "/var/lib/filebeat": "filebeat",
            "/var/lib/shipper": "data",
            "/etc/shipper/shipper.yml": "shipper.yml",
            "-c shipper.yml": f"-c {self.root}/shipper.yml",
        }.items():
            command = command.replace(there, here if here.startswith("-c") else str(self.root / here))
        assert cli.main(shlex.split(command)[1:]) == 0, command
        return capsys.readouterr().out


def test_moving_from_filebeat_resumes_where_it_was(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    host = Host(tmp_path)
    page = (GUIDES / "from-filebeat.md").read_text()
    section = page[page.index("## Step by step") : page.index("## How strict")]
    migrate, check, explain, *others = [line for line in command_lines(section) if "test pipeline" not in line]
    written = tmp_path / "shipper.yml"
    written.write_text(host.run(migrate, capsys))
    written.chmod(0o600)
    assert "prospectors" not in written.read_text()
    assert "Config OK" in host.run(check, capsys)
    assert str(host.log) in host.run(explain, capsys)
    (taking,) = [command for command in others if "registry import" in command]
    host.run(taking, capsys)
    entry = json.loads(host.run("shipper registry list --json -c shipper.yml --path.data /var/lib/shipper", capsys))
    assert (entry["path"], entry["position"], entry["behind"]) == (str(host.log), 4, 4)
