"""The sink's Java packages, by Maven coordinate. Python packages are pinned in `pyproject.toml`, the broker of the demo
and the tests in `demo/jars.py`; no other place names a version."""

DELTA = "io.delta:delta-spark_2.13:4.0.1"

SPARK_PACKAGES = (DELTA,)

OLDEST_JAVA = 17
