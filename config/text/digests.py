"""SHA-256 and BLAKE2 from Python's own code. `hashlib` also has them, but loads OpenSSL first, which takes 3.5 MB and
is needed only for TLS. Python's `random` does the same.
"""

import sys

try:
    # Private modules: if a Python is built without them, hashlib has the same.
    from _blake2 import blake2b

    if sys.version_info >= (3, 12):
        from _sha2 import sha256 as _sha256
    else:
        from _sha256 import sha256 as _sha256  # type: ignore[import-not-found]  # it has no type information
except ImportError:
    from hashlib import blake2b
    from hashlib import sha256 as _sha256


def blake2(data: bytes, size: int = 64) -> bytes:
    """Return the BLAKE2b hash of `size` bytes."""
    return blake2b(data, digest_size=size).digest()


def sha256(data: bytes) -> bytes:
    digest: bytes = _sha256(data).digest()
    return digest
