"""The release of the sink, as it is installed."""

from importlib.metadata import PackageNotFoundError, version


def release() -> str:
    try:
        return version("log-shipper")
    except PackageNotFoundError:  # run from the archive of a cluster
        return "(not installed)"
