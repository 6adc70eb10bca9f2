"""Who may send."""

import base64
import hashlib
import hmac
from dataclasses import replace

import pytest

from log_shipper.config.text.secrets import Secret
from log_shipper.runtime.monitor.exchange import RefusedRequest
from log_shipper.shipper.inputs.http.access import HttpAccess
from log_shipper.shipper.inputs.http.options import HmacConfig, HttpInputConfig, SecretConfig

BASE = HttpInputConfig(id="web")
BODY = b'{"a":1}'


def basic(text: str) -> dict[str, str]:
    return {"authorization": "Basic " + base64.b64encode(text.encode()).decode()}


def is_let_in(config: HttpInputConfig, headers: dict[str, str]) -> bool:
    access = HttpAccess(config)
    try:
        access.check(headers)
        access.check_signature(headers, BODY)
    except RefusedRequest as refused:
        return refused.response.status != 401
    return True


@pytest.mark.parametrize(
    ("headers", "let_in"),
    [
        (basic("ann:p:ä"), True),
        (basic("ann:p:ö"), False),
        (basic("bob:p:ä"), False),
        (basic("ann"), False),
        ({"authorization": "basic " + basic("ann:p:ä")["authorization"][6:]}, True),
        ({"authorization": "Bearer " + basic("ann:p:ä")["authorization"][6:]}, False),
        ({"authorization": "Basic"}, False),
        ({}, False),
    ],
)
def test_basic_auth_wants_name_and_password(headers: dict[str, str], *, let_in: bool) -> None:
    config = replace(BASE, basic_auth=True, username="ann", password=Secret("p:ä"))
    assert is_let_in(config, headers) == let_in


@pytest.mark.parametrize(
    ("header", "let_in"),
    [
        ("Bearer t0ken", True),
        ("bearer  t0ken ", True),
        ("Bearer t0ke", False),
        ("Bearer t0ken1", False),
        ("Basic t0ken", False),
        ("t0ken", False),
        ("Bearer \xff", False),
    ],
)
def test_a_token_is_wanted_as_it_is(header: str, *, let_in: bool) -> None:
    assert is_let_in(replace(BASE, bearer_token=Secret("t0ken")), {"authorization": header}) == let_in


def test_a_client_learns_how_to_sign_in() -> None:
    with pytest.raises(RefusedRequest) as refused:
        HttpAccess(replace(BASE, bearer_token=Secret("t"))).check({})
    assert refused.value.headers == {"WWW-Authenticate": 'Bearer realm="shipper"'}
    with pytest.raises(RefusedRequest) as refused:
        HttpAccess(replace(BASE, basic_auth=True, username="a", password=Secret("b"))).check({})
    assert refused.value.headers == {"WWW-Authenticate": 'Basic realm="shipper"'}


def test_a_header_has_the_secret() -> None:
    config = replace(BASE, secret=SecretConfig(header="X-Secret", value=Secret("s3cret")))
    assert is_let_in(config, {"x-secret": "s3cret"})
    assert not is_let_in(config, {"x-secret": "S3cret"})
    assert not is_let_in(config, {})


def test_all_secrets_that_are_configured_are_wanted() -> None:
    config = replace(BASE, bearer_token=Secret("t"), secret=SecretConfig(header="X-Secret", value=Secret("s")))
    assert is_let_in(config, {"authorization": "Bearer t", "x-secret": "s"})
    assert not is_let_in(config, {"authorization": "Bearer t"})
    assert not is_let_in(config, {"x-secret": "s"})


@pytest.mark.parametrize("kind", ["sha256", "sha1"])
def test_the_body_is_signed(kind: str) -> None:
    options = HmacConfig(header="X-Hub-Signature", key=Secret("k"), type=kind, prefix=f"{kind}=")  # type: ignore[arg-type]
    digest = hmac.new(b"k", BODY, getattr(hashlib, kind)).digest()
    config = replace(BASE, hmac=options)
    for signature in (digest.hex(), digest.hex().upper(), base64.b64encode(digest).decode()):
        assert is_let_in(config, {"x-hub-signature": f"{kind}={signature}"})
        assert is_let_in(config, {"x-hub-signature": signature})
    other = hmac.new(b"K", BODY, getattr(hashlib, kind)).digest()
    for wrong in (other.hex(), digest.hex()[:-1], digest.hex()[:-2], "", "ä", "="):
        assert not is_let_in(config, {"x-hub-signature": f"{kind}={wrong}"})
    assert not is_let_in(config, {})
