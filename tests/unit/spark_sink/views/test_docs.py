"""The examples of docs/guides/views.md are views."""

import re
import shutil
from pathlib import Path

import pytest

from log_shipper.config.yaml.load import load
from log_shipper.spark_sink.options.model import SinkConfig
from log_shipper.spark_sink.views.views import Views
from tests.java import needs_delta
from tests.unit.spark_sink.views.views_lab import ViewsLab

pytestmark = [pytest.mark.spark, needs_delta, pytest.mark.slow("a page of the documentation")]

TEXT = (Path(__file__).parents[4] / "docs" / "guides" / "views.md").read_text()
EXAMPLES = re.findall(r"```yaml\n(.*?)```", TEXT, re.DOTALL)


@pytest.mark.parametrize("example", EXAMPLES, ids=re.findall(r"- name: (\w+)\n.*?```", TEXT, re.DOTALL))
def test_each_example_is_a_view_that_can_start(lab: ViewsLab, example: str) -> None:
    lab.spark.sql(f"CREATE TABLE delta.`{lab.directory}/teams` USING DELTA AS SELECT 'a' AS host, 'red' AS team")
    shutil.copytree(lab.lines, lab.directory / "nginx")
    text = f"kafka: {{hosts: ['none:9092'], topics: [nginx]}}\ncheckpoint.path: /data/checkpoint\n{example}"
    if "table.path" not in example:
        text += "table.path: /data/lines\n"
    file = lab.directory / "sink.yml"
    file.write_text(text.replace("/data", str(lab.directory)))
    config = load(file, SinkConfig)
    Views(lab.spark, config).check()
    for view in config.views:
        assert lab.spark.read.format("delta").load(config.view_path(view)).columns
