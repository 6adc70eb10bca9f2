"""What is a secret of a configuration, by the name of its option, and what is shown in its place."""

import re
from collections.abc import Iterable
from typing import Any

MASK = "xxxxx"
SHORTEST_PART = 4  # characters
_SECRET = re.compile(
    r"(pass|password|passphrase|secret|token|credentials?|api_?key|private_key|ssl\.key|jaas\.config"
    r"|oauthbearer\.config|\.key\.pem)$"
)
# Of object stores, as Hadoop names them: fs.s3a.secret.key, fs.azure.account.key.<account>.
_STORE = re.compile(r"(secret|access)\.key$|encryption\.key$|\.account\.key\.")
_KEY_FILE = re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY")
_IN_URL = re.compile(r"(://[^:/@\s]+:)[^@\s]+@")


def masked(value: Any, name: str = "") -> Any:
    """Return the value with MASK for each secret in it; `name` is its dotted name."""
    if isinstance(value, dict):
        return {key: masked(item, f"{name}.{key}" if name else key) for key, item in value.items()}
    if isinstance(value, list):
        return [masked(item, name) for item in value]
    if isinstance(value, str):
        if _KEY_FILE.search(value):
            return MASK
        value = without_passwords(value)
    return MASK if value not in (None, "") and is_secret(name, value) else value


def is_secret(name: str, value: object) -> bool:
    """True if the option of this dotted name has a secret in it."""
    # If `ssl.key` is the path of a file, it is not a secret, and it is needed to find mistakes.
    named = name.lower()
    if _STORE.search(named):
        return True
    return bool(_SECRET.search(named)) and not (name.endswith("ssl.key") and str(value).startswith(("/", "./")))


def without_passwords(text: str) -> str:
    """Return the text with MASK for passwords in addresses: https://me:password@host."""
    return _IN_URL.sub(rf"\g<1>{MASK}@", text)


def hidden(text: str, secrets: Iterable[str]) -> str:
    """Return the text with MASK for each of the secrets. One that is very short is masked only where it is the whole
    text: it is a part of many words."""
    for secret in sorted({*secrets} - {""}, key=len, reverse=True):
        if secret == text or len(secret) >= SHORTEST_PART:
            # As repr() writes it, too: messages quote values so.
            text = text.replace(secret, MASK).replace(repr(secret)[1:-1], MASK)
    return text
