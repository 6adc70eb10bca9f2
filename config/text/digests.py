"""SHA-256 and BLAKE2 by Python's own code. `hashlib` has them too, but loads OpenSSL first, which takes 3.5 MB and is
needed for TLS alone. Python's `random` avoids it in the same way.
"""

import sys

try:
    # Private modules: where a Python is built without them, hashlib has the same.
    from _blake2 import blake2b

    if sys.version_info >= (3, 12):
        from _sha2 import sha256 as _sha256
    else:
        from _sha256 import sha256 as _sha256  # type: ignore[import-not-found]  # it has no type information
except ImportError:
    from hashlib import blake2b
    from hashlib import sha256 as _sha256


def blake2(data: bytes, size: int = 64) -> bytes:
    """Return the hash by BLAKE2b, of `size` bytes."""
    return blake2b(data, digest_size=size).digest()


def sha256(data: bytes) -> bytes:
    digest: bytes = _sha256(data).digest()
    return digest
