"""Writers of a system: as Coq definitions with readable names, and as lists of numbers for the extracted program.

Both texts hold the same constructors in the same order. In Coq a sort, a symbol or a member has the number that the
program is told, and a definition gives the number its name.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from urllib.parse import quote

from carnet_check.exports.systems import Action, Layer, Liveness, Name, Named, Node, Part, System

GENERAL = "*"  #: What the program calls the layer of what holds under every threat model.


def numbers(system: System) -> Mapping[Name, int]:
    """Return the number of every sort, symbol and member, counted from 1 within its kind."""
    names = [Name("sort", each.name) for each in system.inhabited]
    names += [Name("sort", sort) for sort in system.enumerations]
    found = {name: number for number, name in enumerate(names, 1)}
    found |= {Name("symbol", each.name): number for number, each in enumerate(system.symbols, 1)}
    members = (member for listed in system.enumerations.values() for member in listed)
    return found | {member: number for number, member in enumerate(members, 1)}


# -- numbers for the program ------------------------------------------------------------------------------------------


def encode_value(part: Part, number: Mapping[Name, int]) -> str:
    """Return a value in the program's input format: a constructor is a list that begins with its name."""
    match part:
        case Node(head, parts):
            return f"({' '.join((head, *(encode_value(each, number) for each in parts)))})"
        case Name():
            return str(number[part])
        case bool():
            return str(part).lower()
        case int():
            return str(part)
        case None:
            return "None"
        case _:
            return f"({' '.join(encode_value(each, number) for each in part)})"


def program_text(system: System) -> str:
    """Return a system in the program's input format: the protocol, then every layer."""
    number = numbers(system)
    actions = " ".join(word(action.name) for action in system.actions)
    lines = [encode_value(protocol_value(system), number), f"(Actions {actions})"]
    for layer in system.layers:
        formulas = " ".join(encode_value(_values(named), number) for named in (layer.axioms, layer.known, layer.claims))
        claims = " ".join(word(claim.name) for claim in layer.claims)
        lines.append(f"(Layer {word(layer.threat)} {formulas} ({claims}))")
    return "".join(line + "\n" for line in lines)


def word(name: str) -> str:
    """Return a name as one word of the input format, without space, bracket or slash; the general layer has no name."""
    return quote(name, safe="") or GENERAL


def protocol_value(system: System) -> Node:
    """Return the protocol of a system as a value; its axioms begin with those that say that no sort is empty."""
    enumerations = (Node("pair", (Name("sort", sort), members)) for sort, members in system.enumerations.items())
    actions = (
        Node("Build_action", (each.parameters, each.drawn, _values(each.guards), _values(each.updates)))
        for each in system.actions
    )
    return Node(
        "Build_protocol",
        (
            _values(system.symbols),
            tuple(enumerations),
            _values((*system.inhabited, *system.axioms)),
            system.initially,
            tuple(actions),
        ),
    )


def _values(named: Iterable[Named]) -> tuple[Part, ...]:
    return tuple(each.value for each in named)


# -- Coq --------------------------------------------------------------------------------------------------------------


#: Names of Coq that the files use, as far as a name of a specification could take their place.
RESERVED = frozenset(
    {
        *("Build_action", "Build_declaration", "Build_protocol", "Build_update", "Build_fairness", "Build_liveness"),
        *(
            "certified_in_general",
            "certified_under_threat",
            "certified_with_its_claims",
            "certified_of_liveness",
            "with_constants",
        ),
        *("in_the_end", "liveness", "eq_refl", "vm_cast_no_check"),
    }
)


class Identifiers:
    """Assigns Coq identifiers to things of a specification; each identifier is unique in all files of a system."""

    def __init__(self) -> None:
        self._given: dict[tuple[str, ...], str] = {}
        self._taken = set(RESERVED)

    def of(self, kind: str, *name: str) -> str:
        """Return the identifier of a thing: its kind and name, with a number if another thing has the same spelling."""
        return self.identifier((kind, *name), "_".join((kind, *name)))

    def whole(self, kind: str, text: str, *name: str) -> str:
        """Return an identifier without the kind, for a text of two words, which cannot clash with words of Coq.

        Args:
            kind: what the thing is.
            text: how it is written.
            name: what tells it from others that are written the same; by default the text does.
        """
        plain = _plain(text)
        first, _, rest = plain.partition("_")
        said = plain if rest and first.isalpha() else f"{kind}_{plain}"
        return self.identifier((kind, *(name or (text,))), said)

    def identifier(self, thing: tuple[str, ...], text: str) -> str:
        """Return the identifier of ``thing``, spelt like ``text`` with a number if that is taken."""
        if thing not in self._given:
            plain, number = _plain(text), 2
            found = plain
            while found in self._taken:
                found, number = f"{plain}_{number}", number + 1
            self._given[thing] = found
            self._taken.add(found)
        return self._given[thing]


def _plain(text: str) -> str:
    bare = (each for each in unicodedata.normalize("NFKD", text) if not unicodedata.combining(each))
    return re.sub(r"\W", "_", "".join(bare), flags=re.ASCII)


SHORT = {"symbol": "sym"}  #: What begins the identifier of a name, where it is not its kind.


class CoqText:
    """Writes one system as Coq definitions."""

    def __init__(self, system: System) -> None:
        self.system = system
        self.ids = Identifiers()
        self._claims = {invariant: claim for claim, (invariant, _) in system.stated.items()}

    def value(self, part: Part) -> str:
        """Return a value as a Coq term, in parentheses where they are needed."""
        match part:
            case Node(head, ()):
                return head
            case Node(head, parts):
                return f"({' '.join((head, *map(self.value, parts)))})"
            case Name(kind, text):
                return self.ids.of(SHORT.get(kind, kind), text)
            case bool() | None:
                return str(part).lower() if part is not None else "None"
            case int():
                return str(part)
            case _:
                return coq_list(map(self.value, part))

    def invariant(self, name: str) -> str:
        """Return the identifier of an invariant, which says whether it is a claim or a lemma."""
        return self.ids.of("claim", self._claims[name]) if name in self._claims else self.ids.of("lemma", name)

    @property
    def protocol(self) -> str:
        """The identifier of the protocol: its variant, and the removed defences."""
        name = (self.system.variant, *self.system.without)
        return self.ids.whole("variant", "_without_".join(name), *name)

    def threat(self, id: str) -> str:
        """Return the identifier of a threat model's axioms; of the empty list for the general layer."""
        return self.ids.of("threat", id) if id else "[]"

    def claims(self, layer: Layer) -> str:
        """Return the identifier of the invariants that a layer proves."""
        return self.of_layer("claimed", layer)

    def of_layer(self, what: str, layer: Layer) -> str:
        """Return the identifier ``what`` of a layer."""
        return self.ids.identifier((what, "under", layer.threat), f"{what}_under_{layer.threat or 'every_threat'}")

    def invariants_known_to(self, layer: Layer) -> str:
        """Return the identifier of the invariants that a layer may assume."""
        return self.claims(self.system.layers[0]) if layer.threat else "[]"

    def definitions(self) -> Iterator[str]:
        """Yield the lines of all definitions: names, statements, actions, the protocol, threat models and layers."""
        system = self.system
        for name, number in numbers(system).items():
            yield f"Definition {self.value(name)} : {name.kind} := {number}%positive."
        for sort, formula in system.inhabited:
            yield self._formula(self.ids.of("inhabited", sort), formula)
        for axiom, formula in system.axioms:
            yield self._formula(self.ids.of("axiom", axiom), formula)
        invariants = {claim.name: claim.value for layer in system.layers for claim in layer.claims}
        yield from (self._formula(self.invariant(name), formula) for name, formula in invariants.items())
        for action in system.actions:
            yield from self._action(action)
        yield self._protocol()
        for id, axioms in system.threats.items():
            named = [self.ids.of(f"threat_{id}", axiom.name) for axiom in axioms]
            yield from (self._formula(name, axiom.value) for name, axiom in zip(named, axioms, strict=True))
            yield f"Definition {self.threat(id)} : list formula := {coq_list(named)}."
        for layer in system.layers:
            claims = coq_list(self.invariant(claim.name) for claim in layer.claims)
            yield f"Definition {self.claims(layer)} : list formula := {claims}."

    def liveness(self, live: Liveness) -> Iterator[str]:
        """Yield the definitions of a liveness property: its trigger, its response and its fair actions.

        A property with parameters belongs to an extended protocol, which declares a constant for each parameter.
        """
        for number, (name, _) in enumerate(live.constants, 1 + len(self.system.symbols)):
            yield f"Definition {self.value(Name('symbol', name))} : symbol := {number}%positive."
        if live.constants:
            declared = self.value(tuple(declaration for _, declaration in live.constants))
            yield f"Definition {self.protocol_of(live)} : protocol := with_constants {self.protocol} {declared}."
        name = self.ids.of("liveness", live.name)
        names = [self.ids.of(part, live.name) for part in ("trigger", "response")]
        yield from map(self._formula, names, (live.trigger, live.response))
        fair = []
        for each in live.fair:
            meant = None if each.meant is None else Node("Some", (each.meant,))
            fair.append(self.value(Node("Build_fairness", (each.which, meant, each.strong))))
        yield f"Definition {name} : liveness := Build_liveness {' '.join(names)} {coq_list(fair)}."

    def protocol_of(self, live: Liveness) -> str:
        """Return the identifier of the protocol to which a liveness property belongs."""
        return self.ids.of("protocol_of", live.name) if live.constants else self.protocol

    def _action(self, action: Action) -> Iterator[str]:
        """Yield the definitions of the guards and the updates by their names, and of the action made of them."""
        guards = [self.ids.of(f"guard_{action.name}", guard.name) for guard in action.guards]
        updates = [self.ids.of(f"update_{action.name}", update.name) for update in action.updates]
        yield from (self._formula(name, guard.value) for name, guard in zip(guards, action.guards, strict=True))
        for name, update in zip(updates, action.updates, strict=True):
            yield f"Definition {name} : update := {self.value(update.value)}."
        parts = (self.value(action.parameters), self.value(action.drawn), coq_list(guards), coq_list(updates))
        yield f"Definition {self.ids.of('action', action.name)} : action := Build_action {' '.join(parts)}."

    def _formula(self, name: str, formula: Node) -> str:
        return f"Definition {name} : formula := {self.value(formula)}."

    def _protocol(self) -> str:
        _, (symbols, enumerations, _, initially, _) = protocol_value(self.system)
        axioms = [self.ids.of("inhabited", each.name) for each in self.system.inhabited]
        axioms += [self.ids.of("axiom", each.name) for each in self.system.axioms]
        actions = [self.ids.of("action", action.name) for action in self.system.actions]
        parts = [self.value(symbols), self.value(enumerations), coq_list(axioms), self.value(initially)]
        return f"Definition {self.protocol} : protocol := Build_protocol {' '.join(parts)} {coq_list(actions)}."


def coq_list(parts: Iterable[str]) -> str:
    """Return a list as Coq writes it."""
    return f"[{'; '.join(parts)}]"
