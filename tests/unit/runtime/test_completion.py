"""What a shell offers after the words of a command line, of which the last one is being typed."""

import argparse
import shlex
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from log_shipper.runtime.completion import completion
from log_shipper.shipper.cli.commands import main, whole_parser
from log_shipper.spark_sink.__main__ import whole_parser as sink_parser

ROOT = Path(__file__).parents[3]
Offers = Callable[..., set[str]]


def printed(*command: str) -> set[str]:
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stderr == ""
    return set(done.stdout.split())


def in_bash(parser: argparse.ArgumentParser, *words: str) -> set[str]:
    script = f"""{completion(parser, "bash")}
compopt() {{ :; }}
COMP_WORDS=({shlex.join(words)}) COMP_CWORD={len(words) - 1}
_{parser.prog.replace("-", "_")}
printf '%s\\n' "${{COMPREPLY[@]}}"
"""
    return printed("bash", "-eu", "-c", script)


def in_zsh(parser: argparse.ArgumentParser, *words: str) -> set[str]:
    script = f"""
compdef() {{ :; }}
compadd() {{ shift; for offer in "$@"; do [[ $offer != $PREFIX* ]] || print -- $offer; done; }}
_files() {{ print -l -- $PREFIX*; }}
{completion(parser, "zsh")}
words=({shlex.join(words)}) CURRENT={len(words)} PREFIX={shlex.quote(words[-1])}
_{parser.prog.replace("-", "_")}
"""
    return printed("zsh", "-f", "-c", script)


def in_fish(parser: argparse.ArgumentParser, *words: str) -> set[str]:
    line = shlex.join(words[:-1]) + " " + words[-1]
    script = f"{completion(parser, 'fish')}\ncomplete -C {shlex.quote(line)}"
    return {offer.rstrip("/") for offer in printed("fish", "--no-config", "-c", script)}


def where_installed(name: str, offers: Offers) -> object:
    missing = pytest.mark.skipif(shutil.which(name) is None, reason=f"{name} is not installed")
    return pytest.param(offers, marks=missing, id=name)


SHELLS = [where_installed("bash", in_bash), where_installed("zsh", in_zsh), where_installed("fish", in_fish)]


@pytest.mark.parametrize("offers", SHELLS)
def test_a_shell_completes_commands_options_and_files(offers: Offers) -> None:
    shipper, sink = whole_parser(), sink_parser()
    assert {"run", "test", "registry"} <= offers(shipper, "shipper", "")
    assert offers(shipper, "shipper", "test", "") >= {"config", "pipeline", "output"}
    assert "--once-timeout" in offers(shipper, "shipper", "run", "--once")
    assert {"config/shipper.yml"} <= offers(shipper, "shipper", "run", "-c", "config/shipper.y")
    assert "--dry-run" in offers(sink, "spark-sink", "maintain", "-c", "sink.yml", "--d")
    assert "maintain" in offers(sink, "spark-sink", "m")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_command_prints_it(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", shell]) == 0
    assert capsys.readouterr().out == completion(whole_parser(), shell)
