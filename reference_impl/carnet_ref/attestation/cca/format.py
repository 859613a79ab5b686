"""The format of CCA tokens: ``carnet attest cca``."""

from collections.abc import Iterator
from typing import Final

from carnet_ref.attestation.appraisal import Appraisal
from carnet_ref.attestation.cca.appraisal import POLICY_FORM, Policy, appraise_token
from carnet_ref.attestation.cca.references import References, platform_key, require_profiles
from carnet_ref.attestation.cca_token import REALM_CHALLENGE_BYTES, CcaToken, parse_token
from carnet_ref.attestation.corim import Corim, parse_corim
from carnet_ref.attestation.formats import AppraisalContext, Format, NeedsOptionError, Option, OptionKind, OptionValues
from carnet_ref.attestation.jose import verification_keys
from carnet_ref.attestation.kinds import Layer, LayerRole
from carnet_ref.attestation.tpm2 import PublicKey, accepted_key, parse_key
from carnet_ref.wire import MalformedError

#: A token, its platform's key, manifests, and who should have signed these.
Given = tuple[CcaToken, PublicKey, tuple[Corim, ...], PublicKey | None]


def recognise(data: bytes, given: OptionValues) -> Given:
    """Return the parsed inputs. Raises MalformedError, or NeedsOptionError without the platform's key."""
    token, manifests = parse_token(data), tuple(map(parse_corim, given.files("reference")))
    require_profiles(manifests)
    public = _public(given, "platform-key") or platform_key(manifests, token)
    if public is None:
        why = "a CCA token needs --platform-key, or --reference with the key: there is no public root of such keys"
        raise NeedsOptionError(why, "platform-key")
    return token, public, manifests, _public(given, "reference-key")


def _public(given: OptionValues, option: str) -> PublicKey | None:
    data = given.octets(option)
    if data is None:
        return None
    if data.lstrip()[:1] == b"{":
        keys = verification_keys(data)
        if len(keys) != 1:
            raise MalformedError(option, "one JSON Web Key", f"{len(keys)}")
        return accepted_key(keys[0].key)
    key = parse_key(data).public
    if key is None:
        raise MalformedError(option, "a public key", "certificates")
    return key


def appraise(found: Given, given: OptionValues, against: AppraisalContext[Policy]) -> Appraisal:
    """Appraise the token."""
    token, key, manifests, maker = found
    references = References(manifests, maker, against.at) if manifests or maker else None
    return appraise_token(token, key, against.policy, given.octets("nonce"), references)


def describe(found: Given) -> Iterator[Layer]:
    """Yield the profiles of both tokens, and the implementation that the platform says it is."""
    platform, realm = found[0].platform, found[0].realm
    yield Layer(LayerRole.VERSION, f"{platform.profile}, realm token of {realm.profile or 'RMM 1.0'}")
    yield Layer(LayerRole.PRODUCT, f"implementation {platform.implementation_id.hex()}")


#: Tokens of Arm's CCA.
FORMAT: Final = Format(
    argument="token",
    help="""Appraise TOKEN of an Arm CCA realm: raw, hexadecimal or base64; the platform's token and the realm's.

    The platform's token is checked by --platform-key, or by a key in --reference. There is no public root of such keys:
    get the key from the maker of the platform. Manifests in --reference count because you give them; one that is signed
    is checked by --reference-key. The realm's token is checked by the key that the platform vouches for. The default
    policy asks for this, and for a platform in the secured state.
    """,
    options=(
        Option("platform-key", OptionKind.FILE, "The platform's public key (CPAK): PEM, DER or a JSON Web Key."),
        Option("reference", OptionKind.FILES, "Reference values and keys in CoRIM, of the platform or of realms."),
        Option("reference-key", OptionKind.FILE, "The public key that signed the reference values, likewise."),
        Option("nonce", OptionKind.HEX, "The 64 bytes that the realm should have asked with.", REALM_CHALLENGE_BYTES),
    ),
    policy=POLICY_FORM,
    recognise=recognise,
    appraise=appraise,
    describe=describe,
    anchored=False,
)
