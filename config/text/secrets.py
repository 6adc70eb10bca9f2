"""Secrets of a configuration, and how they are masked.

An option with a secret value is a `Secret`, which cannot be printed. Text printed before there are options (a tree, raw
settings of librdkafka, Java or Spark) is masked by option name, which a test compares with the types.
"""

import re
from collections.abc import Iterable
from typing import Any

MASK = "xxxxx"
MIN_PART_LENGTH = 4  # characters
_SECRET = re.compile(
    r"(pass|password|passphrase|secret|token|credentials?|api_?key|private_key|ssl\.key|jaas\.config"
    r"|oauthbearer\.config|\.key\.pem|(^|\.)hmac\.key|(^|\.)secret\.value|(^|\.)headers\.value)$"
    r"|(^|\.)options_headers\."
)
# Of object stores, as Hadoop names them (fs.s3a.secret.key, fs.azure.account.key.<account>), and as deltalake does.
_STORE = re.compile(
    r"(secret|access)\.key$|encryption\.key$|\.account\.key\."
    r"|aws_secret_access_key$|_customer_key_base64$|_account_key$"
)
_KEY_FILE = re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY")
# Up to the last @ before the path: a password may contain one.
_IN_URL = re.compile(r"(://[^:/@\s]*:)[^/\s\"']+@")


class Secret:
    """A string that is masked in str, repr and format."""

    __slots__ = ("_text",)
    described_as = "string"  # on the page of options

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> str:
        """Return the secret for use; never for a message."""
        return self._text

    @property
    def path(self) -> str:
        """Return the path if it is one, else the mask. For messages."""
        return self._text if is_path(self._text) else MASK

    def __bool__(self) -> bool:
        return bool(self._text)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and self._text == other._text

    def __hash__(self) -> int:
        return hash((Secret, self._text))

    def __repr__(self) -> str:
        return MASK if self._text else "''"

    __str__ = __repr__


def is_path(text: str) -> bool:
    """Return True if the text can only be a file path, where the option may also hold the secret itself."""
    return text.startswith(("/", "./"))


def masked(value: Any, name: str = "", *, in_secret: bool = False) -> Any:
    """Return the value with MASK for each secret in it; `name` is its dotted name, `in_secret`: an option above it is a
    secret.
    """
    if isinstance(value, dict):
        inside = in_secret or has_secrets(name)
        return {key: masked(item, f"{name}.{key}" if name else key, in_secret=inside) for key, item in value.items()}
    if isinstance(value, list):
        return [masked(item, name, in_secret=in_secret) for item in value]
    if isinstance(value, str):
        if _KEY_FILE.search(value):
            return MASK
        value = without_passwords(value)
    return MASK if value not in (None, "") and (in_secret or is_secret(name, value)) else value


def is_secret(name: str, value: object) -> bool:
    """Return True if the option of this dotted name holds a secret."""
    # If `ssl.key` is a file path, it is not a secret, and it helps to find errors.
    named = name.lower()
    if _STORE.search(named):
        return True
    return bool(_SECRET.search(named)) and not (name.endswith("ssl.key") and is_path(str(value)))


def has_secrets(name: str) -> bool:
    """Return True if `secret`, a section of this dotted name, was written by mistake where a secret belongs."""
    return is_secret(name, "") and name.lower().rpartition(".")[2] != "secret"


def without_passwords(text: str) -> str:
    """Return the text with MASK for passwords in addresses: https://me:password@host."""
    return _IN_URL.sub(rf"\g<1>{MASK}@", text)


def hidden(text: str, secrets: Iterable[str]) -> str:
    """Return the text with each secret masked. A very short one is masked only if it is the whole text: it occurs in
    many words.
    """
    for secret in sorted({*secrets} - {""}, key=len, reverse=True):
        if secret == text or len(secret) >= MIN_PART_LENGTH:
            # Also as repr() writes it, because messages quote values so.
            text = text.replace(secret, MASK).replace(repr(secret)[1:-1], MASK)
    return text
