"""The release, as `shipper version` prints it and each record has it; pyproject.toml takes it from here.

A constant, because to read it from the metadata of the installed package takes longer than all else of `shipper
version`.
"""

VERSION = "0.2.0"
