"""Reading a protocol back from its canonical encoding (:mod:`.encoding`); the text may be hostile.

Decoding returns the protocol that was encoded, or raises an error: the result is encoded again, and a text that differs
in any byte is refused. The encoding does not have the order in which sorts and symbols were declared. They are decoded
in the order of their first appearance, which is the order in which a draft declares them, too.
"""

import json
from dataclasses import replace

from carnet_spec.language.encoding import FORMAT, PROTOCOL, Decoder, object_of, wrong
from carnet_spec.language.errors import SpecificationError
from carnet_spec.language.protocol import Protocol, signature_of


def decode(text: str) -> Protocol:
    """Return the protocol whose encoding is ``text``.

    Raises SpecificationError if the text is not the encoding of a protocol.
    """
    try:
        content = object_of(json.loads(text), "format")
        if content["format"] != FORMAT:
            raise wrong(f"a protocol in the format {FORMAT}", content["format"])
        tables = object_of(content, "sorts", "symbols")
        decoder = Decoder(tables["sorts"], tables["symbols"])
        *parts, lemma_claims = PROTOCOL.read(decoder, content)
        bare = replace(Protocol(*parts), lemma_claims=lemma_claims)
        symbols, sorts = signature_of(bare, decoder.symbols.values(), decoder.sorts.values())
        protocol = replace(bare, symbols=symbols, sorts=sorts)
        protocol.require_declared_threats()
        canonical = protocol.canonical_json
    except (RecursionError, ValueError) as error:
        raise SpecificationError(f"expected a protocol in JSON, and it cannot be read: {error}") from None
    if canonical != text:
        raise SpecificationError("expected a protocol in canonical JSON, and this is written in another way")
    return protocol
