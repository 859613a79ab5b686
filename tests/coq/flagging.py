"""A protocol small enough for certificates by hand: who is bad can be flagged, and nobody else is."""

from carnet_check.certificates.file import Certificates, Entry, LayerCertificates, Layout
from carnet_check.coq.certificates import ConvertedCertificate, Converter
from carnet_check.exports.systems import System, system
from carnet_spec import language
from carnet_spec.language.terms import BOOL, Apply, Forall, Implies, Not, Var
from tests.fixtures.protocols import protocol_of

PARTY = language.Sort("Party")
BAD = language.Symbol("bad", (PARTY,), BOOL, language.Kind.TRUTH, mutable=False)
FLAGGED = language.Symbol("flagged", (PARTY,), BOOL, language.Kind.STATE, mutable=True)
X, P = Var("x", PARTY), Var("p", PARTY)

ONLY_BAD = language.Invariant("only bad", (X,), Implies(Apply(FLAGGED, (X,)), Apply(BAD, (X,))))
NONE = language.Invariant("none", (X,), Not(Apply(FLAGGED, (X,))))
NOBODY = language.Threat("nobody", "Nobody is bad", (language.Axiom("all good", Forall((X,), Not(Apply(BAD, (X,))))),))
ANYBODY = language.Threat("anybody", "Anybody may be bad", ())

NAMES = ("rigid.bad", "now.flagged")
#: For each obligation of a layer the hypotheses that are used, beside the goal, and the steps.
CERTIFICATES = {
    "": (
        ((), "u 0 w 0 x 1 1 0"),
        (("inv:only bad", "guard:is bad"), "u 2 w 0 s 1 u 0 i 0 1 e1 s 0 x 2 0 3 0 x 2 0 5 0 u 1 x 3 0 2 4 1 1 0"),
    ),
    "nobody": (
        ((), "u 0 w 0 x 1 0 0"),
        (("threat:all good", "guard:is bad"), "u 1 u 0 i 0 1 e0 x 2 0 2 0"),
    ),
}


def protocol() -> language.Protocol:
    """Return the protocol, with a claim under every threat model and one under ``nobody`` alone."""
    guard = language.Guard("is bad", Apply(BAD, (P,)))
    update = language.Update("flag", FLAGGED, language.Effect.INSERT, (P,))
    every = (NOBODY.id, ANYBODY.id)
    return protocol_of(
        "flagging",
        actions=(language.Action("flag", language.Role("anyone"), (P,), (guard,), (update,), "flag", "here"),),
        claims=(
            language.Claim("only-bad", ONLY_BAD, "Only who is bad is flagged.", "", "", every),
            language.Claim("none", NONE, "Nobody is flagged.", "", "", every, fails_under=(ANYBODY.id,)),
        ),
        threats=(NOBODY, ANYBODY),
        sorts=(PARTY,),
        symbols=(BAD, FLAGGED),
    )


def certificates() -> Certificates:
    layers = {}
    for threat, given in CERTIFICATES.items():
        entries = tuple(Entry("0" * 16, used, NAMES, tokens) for used, tokens in given)
        layers["main", threat] = LayerCertificates(Layout((), ()), entries, {})
    return Certificates(layers)


def converted(whole: System) -> dict[str, list[ConvertedCertificate]]:
    """Return the certificates of each layer, in terms of Coq's obligations."""
    return {layer.threat: Converter(whole).layer(layer, certificates()) for layer in whole.layers}


def flagging() -> System:
    return system(protocol().canonical_json)
