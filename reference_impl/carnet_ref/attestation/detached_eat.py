"""Attestation results as files: one token, or a detached bundle of one about all devices and one about each.

A bundle is ``[["JWT", overall], {"GPU-0": token, …}]``. The overall token names each other one by its digest, SHA-256
over the characters of the token.

NVIDIA's tool ``nvattest`` writes a bundle as ``detached_eat`` of an object, and its Python SDK as the result of one
verifier in a bundle of its own, whose overall token is signed by a secret that is published. Neither is believed, but
what ``nvattest`` itself calls a failure, as where the policy of who ran it is not met, is refused.

Source: RFC 9711, section 5 (detached EAT bundle); NVIDIA Attestation SDK (73c032e),
nv-attestation-sdk-cpp/src/claims.cpp and nv-attestation-cli/src/attest.cpp; NVIDIA nvtrust, attestation.py
(``get_token``); RFC 7519, section 4.1.
"""

import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from carnet_ref.attestation.jose import Token, nested_json, parse_token
from carnet_ref.wire import MalformedError, bounded_json

BUNDLE: Final = "detached EAT bundle"
CLAIMS: Final = "claims of a token"
LARGEST_BUNDLE: Final = 1 << 22
MOST_DEVICES: Final = 64
SUBMODULES: Final = "submods"
TOOL: Final = "the output of NVIDIA's nvattest"
PYTHON_TOKEN: Final = "the token of NVIDIA's Python SDK, whose own signature anybody can make"


@dataclass(frozen=True, slots=True)
class ServiceResult:
    """The token of a service, with its tokens about single devices, by name, if there are any.

    ``found_in`` names the file or output that held them. It is None if they came alone.
    """

    token: Token
    devices: Mapping[str, Token]
    found_in: str | None = None

    @property
    def tokens(self) -> tuple[Token, ...]:
        """All tokens, the overall one first."""
        return (self.token, *self.devices.values())


def parse_result(data: bytes) -> ServiceResult:
    """Parse a token or a bundle, alone or in what NVIDIA's tools write around it.

    Raises MalformedError if it is neither.
    """
    if data.lstrip()[:1] not in (b"[", b"{"):
        return ServiceResult(parse_token(data), {})
    match bounded_json(data, BUNDLE, LARGEST_BUNDLE):
        case {"detached_eat": bundle, **beside}:
            code = beside.get("result_code", 0)
            if type(code) is not int or code:
                raise MalformedError(TOOL, "result_code 0", ascii((code, beside.get("result_message")))[:100])
            return _bundle(bundle, TOOL)
        case [["JWT", str()], dict() as verifiers] if any(isinstance(each, list) for each in verifiers.values()):
            if len(verifiers) > 1:
                raise MalformedError(PYTHON_TOKEN, "the result of one verifier", ascii(sorted(verifiers))[:100])
            return _bundle(next(iter(verifiers.values())), PYTHON_TOKEN)
        case bundle:
            return _bundle(bundle)


def _bundle(bundle: object, found_in: str | None = None) -> ServiceResult:
    match bundle:
        case [["JWT", str() as overall], dict() as devices] if len(devices) <= MOST_DEVICES:
            tokens = {name: _token(each) for name, each in devices.items()}
            return ServiceResult(_token(overall), tokens, found_in)
    wanted = f'[["JWT", token], {{name: token, …}}] with at most {MOST_DEVICES} devices'
    raise MalformedError(BUNDLE, wanted, "something else")


def _token(text: object) -> Token:
    if not isinstance(text, str) or text != text.strip():
        raise MalformedError(BUNDLE, "tokens as text", type(text).__name__)
    return parse_token(text.encode("utf-8", "surrogatepass"))


def parse_claims(token: Token) -> dict[str, object]:
    """Read the claims in a token. Raises MalformedError if they are no object, or nested too deeply."""
    claims = nested_json(token.payload, CLAIMS)
    if not isinstance(claims, dict):
        raise MalformedError(CLAIMS, "an object", type(claims).__name__)
    return claims


def check_digests(claims: Mapping[str, object], devices: Mapping[str, Token]) -> None:
    """Check that the overall token names exactly these devices, each with its token's digest.

    Raises MalformedError if it does not.
    """
    named = claims.get(SUBMODULES)
    if not isinstance(named, dict) or set(named) != set(devices):
        raise MalformedError(SUBMODULES, f"the devices {ascii(sorted(devices))[:100]}", _names(named))
    for name, device in devices.items():
        match named[name]:
            case ["DIGEST", ["SHA-256", str() as stated]]:
                actual = hashlib.sha256(device.compact.encode()).hexdigest()
                if not hmac.compare_digest(stated.encode("utf-8", "surrogatepass"), actual.encode()):
                    raise MalformedError(f"{SUBMODULES}.{ascii(name)[:40]}", f"the digest {actual}", ascii(stated)[:70])
            case _:
                raise MalformedError(f"{SUBMODULES}.{ascii(name)[:40]}", "a digest by SHA-256", "something else")


def _names(value: object) -> str:
    return ascii(sorted(value))[:100] if isinstance(value, dict) else type(value).__name__
