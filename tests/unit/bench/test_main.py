"""What the command refuses before it measures, and the paths of its runs."""

from pathlib import Path

import pytest

from bench.__main__ import main
from bench.runs import Runs, broker


@pytest.mark.parametrize(
    "others", ["--shapes", "--kills", "--http", "--inputs", "--outage", "--many", "--sink", "--month"]
)
def test_a_picture_of_other_figures_is_refused(others: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--svg", "x.svg", others])
    assert "--svg is only for one file and for --quiet" in capsys.readouterr().err


@pytest.mark.kafka
def test_each_path_of_a_run_is_new(tmp_path: Path) -> None:
    runs = Runs(broker(tmp_path), tmp_path)
    assert len({runs.fresh("registry-10") for _ in range(3)}) == 3
