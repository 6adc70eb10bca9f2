"""The one import name of the project: `config`, `registry`, `runtime`, `shipper` and `spark_sink` are its packages.

They lie at the top of the repository (pyproject.toml, `package-dir`), and below this directory once installed.
"""

# A constant, because to read it from the metadata of the installed package takes longer than all else of `shipper
# version`. pyproject.toml takes it from here.
VERSION = "0.2.0"
