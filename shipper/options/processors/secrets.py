"""The patterns of `redact`, by name. Where a pattern has groups, only these are the secret.

Each is written so that one pass over a text suffices: a match ends where the characters it consists of end, so that no
part of a text is scanned again for the next match. Digits that look like a card or an account are verified by their
checksums afterwards (shipper/processor/parsing/checksums.py).
"""

from log_shipper.config.text.patterns import parse_pattern

_OCTET = r"(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"
_SIGN_IN = r"[A-Za-z0-9_.-]*(?:password|passwd|passphrase|pwd|secret|token|api[_-]?key|access[_-]?key|private[_-]?key)"

PATTERNS: dict[str, str] = {
    # Any sequence of groups matches; the check finds those that are a card number.
    "credit_card": r"\b(?:[2-6][0-9]{12,18}|[2-6][0-9]{3}(?:[ -][0-9]{1,6}){2,})\b",
    "iban": r"\b[A-Z]{2}[0-9]{2}(?:[A-Z0-9]{11,30}|(?: [A-Z0-9]{4}){2,}(?: [A-Z0-9]{1,3})?)\b",
    "us_ssn": r"\b[0-9]{3}-[0-9]{2}-[0-9]{4}\b",
    "phone": r"\+[1-9][0-9]{0,2}(?:[ .-]?\(?[0-9]{1,5}\)?){2,6}\b",
    "email": r"[A-Za-z0-9._%+-]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+",
    "ipv4": rf"\b(?:{_OCTET}\.){{3}}{_OCTET}\b",
    "ipv6": r"(?:\b[0-9A-Fa-f]{1,4}|:):(?:[0-9A-Fa-f]{0,4}:){0,6}(?:[0-9]+(?:\.[0-9]+){3}\b|[0-9A-Fa-f]{1,4}\b|:)?",
    "bearer_token": r"(?i)\b(?:bearer|basic)[ \t]+([A-Za-z0-9._~+/-]{8,}=*)",
    "aws_access_key": r"\b(?:AKIA|ASIA|ABIA|ACCA|AGPA|AIDA|AIPA|ANPA|ANVA|AROA)[A-Z0-9]{16}\b",
    "jwt": r"\beyJ[A-Za-z0-9_-]{5,}\.[A-Za-z0-9_-]{5,}\.[A-Za-z0-9_-]*",
    # A truncated key, for example at the limit of a message, is a secret up to its end.
    "private_key": r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----(?s:.*?)"
    r"(?:-----END [A-Z0-9 ]*KEY(?: BLOCK)?-----|\z)",
    "password_assignment": rf"(?i)\b{_SIGN_IN}[\\\"']*[ \t]*(?:=>|[:=])[ \t]*"
    r"(?:\\?\"([^\"\\]+)|'([^']+)|([^\s\"'\\,;&(){}\[\]]+))",
}
DEFAULT = ("credit_card", "bearer_token", "aws_access_key", "jwt", "private_key", "password_assignment")


def parse_secret(pattern: object) -> str:
    """Return the user's own pattern. Raises ValueError with a message for the user."""
    if not isinstance(pattern, str):
        raise ValueError("must be text; put it in quotes")
    if not pattern:
        raise ValueError("is empty")
    return parse_pattern(pattern)
