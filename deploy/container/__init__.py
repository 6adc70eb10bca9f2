"""Builds the container images of shipper and sink without a container engine: script/package --oci.

`base` creates a minimal Debian, `contents` lays out the program and its start configuration, as `Containerfile` does
for engines; `layout` writes both as an image layout of the Open Container Initiative.
"""
