"""The sink's Java packages, by Maven coordinate. The versions of Python packages are in `pyproject.toml` and
`requirements/`, the broker's of the demo and the tests in `demo/jars.py`; no other place names one."""

DELTA = "io.delta:delta-spark_2.13:4.0.1"

SPARK_PACKAGES = (DELTA,)

OLDEST_JAVA = 17
