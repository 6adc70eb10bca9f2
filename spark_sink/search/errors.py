"""The error that ends a search."""


class SearchError(Exception):
    """Raised where a search cannot be done, or not be completed; the text is for the user of the command."""
