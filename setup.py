"""The list of packages. All else is in pyproject.toml, by which setuptools finds none that `package-dir` renames."""

from setuptools import find_packages, setup

TOP = ("config", "registry", "runtime", "shipper", "spark_sink")

found = find_packages(include=[*TOP, *(f"{name}.*" for name in TOP)])
setup(packages=["log_shipper", *(f"log_shipper.{name}" for name in found)])
