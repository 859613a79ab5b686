"""The format of CCA tokens: ``carnet attest cca``."""

from __future__ import annotations

from typing import Final

from carnet_ref.attestation.appraisal import Appraisal
from carnet_ref.attestation.cca.appraisal import POLICY_FORM, Policy, appraise_token
from carnet_ref.attestation.cca.token import REALM_CHALLENGE_BYTES, CcaToken, parse_token
from carnet_ref.attestation.formats import AppraisalContext, Format, NeedsOptionError, Option, OptionKind, OptionValues
from carnet_ref.attestation.tpm2 import PublicKey, parse_key
from carnet_ref.wire import MalformedError


def recognise(data: bytes, given: OptionValues) -> tuple[CcaToken, PublicKey]:
    """Return the token and the platform's key. Raises MalformedError or, without the key, NeedsOptionError."""
    token, key = parse_token(data), given.octets("platform-key")
    if key is None:
        why = "a CCA token needs --platform-key: there is no public root of such keys"
        raise NeedsOptionError(why, "platform-key")
    public = parse_key(key).public
    if public is None:
        raise MalformedError("platform key", "a public key", "certificates")
    return token, public


def appraise(found: tuple[CcaToken, PublicKey], given: OptionValues, against: AppraisalContext[Policy]) -> Appraisal:
    """Appraise the token."""
    token, key = found
    return appraise_token(token, key, against.policy, given.octets("nonce"))


FORMAT: Final = Format(
    argument="token",
    help="""Appraise TOKEN of an Arm CCA realm: raw, hexadecimal or base64; the platform's token and the realm's.

    The platform's token is checked by --platform-key. There is no public root of such keys: get the key from the maker
    of the platform. The realm's token is checked by the key that the platform vouches for. The default policy asks for
    this, and for a platform in the secured state.
    """,
    options=(
        Option("platform-key", OptionKind.FILE, "The platform's public key (CPAK) in PEM or DER; it is needed."),
        Option("nonce", OptionKind.HEX, "The 64 bytes that the realm should have asked with.", REALM_CHALLENGE_BYTES),
    ),
    policy=POLICY_FORM,
    recognise=recognise,
    appraise=appraise,
    anchored=False,
)
"""Tokens of Arm's CCA."""
