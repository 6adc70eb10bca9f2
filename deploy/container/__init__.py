"""Builds the container images of shipper and sink without a container engine: script/package --oci.

`base` makes a small Debian, `contents` lays out what is ours and says how it is started, as `Containerfile` does for
engines; `layout` writes both as an image layout of the Open Container Initiative.
"""
