from tests.config_lab import lab  # noqa: F401 - the fixture of these tests
