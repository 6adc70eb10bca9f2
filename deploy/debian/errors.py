"""Errors of building a package."""


class PackagingFailed(Exception):
    """Raised where a package cannot be built; the text has the reason, and what to do."""
