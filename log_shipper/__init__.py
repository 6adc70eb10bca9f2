"""The one import name of the project: `config`, `registry`, `runtime`, `shipper` and `spark_sink` are its packages.

They lie at the top of the repository (pyproject.toml, `package-dir`), and below this directory once installed.
"""

import os

# A constant, because to read it from the metadata of the installed package takes longer than all else of `shipper
# version`. pyproject.toml takes it from here.
VERSION = "0.3.0"

_here = os.path.dirname(__file__)
if not os.path.isdir(os.path.join(_here, "config")):
    # A checkout that is only on Python's path, as on a driver of Spark: an installation would find them by itself.
    __path__.append(os.path.dirname(_here))
