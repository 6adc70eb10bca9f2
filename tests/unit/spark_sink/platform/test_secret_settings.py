import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from log_shipper.spark_sink.platform.secret_settings import passed_by_file, properties, secrets_of

ARGUMENTS = "PYSPARK_SUBMIT_ARGS"
SECRET = {"spark.hadoop.fs.s3a.secret.key": "a=b: \\c#d\té\U0001f511"}


def test_secrets_are_known_by_their_names() -> None:
    others = {"spark.master": "local[1]", "spark.hadoop.fs.s3a.endpoint": "http://x"}
    assert secrets_of(SECRET | others) == SECRET


def test_java_finds_them_in_a_file_that_only_this_user_can_read_and_that_is_deleted() -> None:
    before = os.environ.get(ARGUMENTS)
    with passed_by_file(SECRET):
        option, file, *rest = os.environ[ARGUMENTS].split()
        assert (option, rest) == ("--properties-file", ["--load-spark-defaults", before or "pyspark-shell"])
        assert stat.S_IMODE(Path(file).stat().st_mode) == 0o600
        assert Path(file).read_text() == properties(SECRET)
    assert not Path(file).exists()
    assert os.environ.get(ARGUMENTS) == before


def test_without_secrets_nothing_changes() -> None:
    before = os.environ.get(ARGUMENTS)
    with passed_by_file({}):
        assert os.environ.get(ARGUMENTS) == before


def test_no_character_has_a_meaning_in_the_file() -> None:
    assert properties({"a.b": "c=\\é\U0001f511"}) == "a\\u002eb=c\\u003d\\u005c\\u00e9\\ud83d\\udd11\n"


SESSION = """
import sys
from pathlib import Path
from dataclasses import replace
from tests.unit.spark_sink.conftest import sink_config
from log_shipper.spark_sink.platform.session import close_session, open_session

name, value = sys.argv[2], sys.stdin.read()
spark = open_session(replace(sink_config(Path(sys.argv[1])), spark={name: value, "spark.master": "local[1]"}))
read = spark.sparkContext.getConf().get(name)
hadoop = spark.sparkContext._jsc.hadoopConfiguration().get(name.removeprefix("spark.hadoop."))
java = Path(f"/proc/{spark.sparkContext._gateway.proc.pid}/cmdline").read_bytes()
print("RESULT", read == value, hadoop == value, b"local[1]" in java, b"hunter2" in java)
close_session(spark)
"""


@pytest.mark.slow("starts a Spark of its own")
@pytest.mark.spark
def test_a_secret_is_in_sparks_settings_and_on_no_command_line(tmp_path: Path) -> None:
    ((name, _),) = SECRET.items()
    value = "hunter2andmore=b: \\c#d"
    run = subprocess.run(
        [sys.executable, "-c", SESSION, str(tmp_path), name],
        input=value,
        capture_output=True,
        text=True,
        timeout=300,
        cwd=Path(__file__).parents[4],
    )
    assert "RESULT True True True False" in run.stdout, run.stdout + run.stderr
