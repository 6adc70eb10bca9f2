"""Errors of building a package."""


class PackagingFailed(Exception):
    """Raised when a package cannot be built; the text has the reason and the action."""
