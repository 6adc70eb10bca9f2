"""What a checkpoint directory says of its query. Spark writes it; here it is only read, before the query starts.

`metadata` has the query's id, for good; `offsets/N` is written before batch N runs, `commits/N` after it.
"""

import json
from dataclasses import dataclass
from typing import Any

from pyspark.sql import SparkSession

from spark_sink.errors import SPARK_ERRORS, translate


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A directory of any file system that Spark's Hadoop client knows."""

    spark: SparkSession
    path: str

    def query_id(self) -> str | None:
        """None before the first start. Raises SinkError when it cannot be read."""
        try:
            if not self._file_system().exists(self._at("metadata")):
                return None
            text = self.spark.read.text(f"{self.path}/metadata", wholetext=True).collect()[0][0]
            return str(json.loads(text)["id"])
        except SPARK_ERRORS as error:
            raise translate(str(error), f"cannot read the checkpoint {self.path}") from error
        except (ValueError, KeyError, IndexError) as error:
            raise translate(
                f"its file metadata is damaged: {error}", f"cannot read the checkpoint {self.path}"
            ) from error

    def last_planned(self) -> int:
        """The last batch that was begun, -1 when none was."""
        offsets = self._at("offsets")
        if not self._file_system().exists(offsets):
            return -1
        names = [str(status.getPath().getName()) for status in self._file_system().listStatus(offsets)]
        return max((int(name) for name in names if name.isdigit()), default=-1)

    def _at(self, name: str) -> Any:
        assert self.spark._jvm is not None
        return self.spark._jvm.org.apache.hadoop.fs.Path(self.path, name)

    def _file_system(self) -> Any:
        return self._at("metadata").getFileSystem(self.spark._jsparkSession.sessionState().newHadoopConf())
