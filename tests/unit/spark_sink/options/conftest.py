from tests.configuring import lab  # noqa: F401 - the fixture of these tests
