"""The adversary of Dolev and Yao: what agents deduce from messages with ideal cryptography, expressed by relations.

A message is one relation, and what it was made of are the relation's arguments: ``first(b, n, a)`` may stand for the
pair of a nonce and a name under a public key. A :class:`DolevYao` is told once what each relation stands for, and adds
every rule that this allows: whoever has the key opens the message, and a corrupt agent makes the messages of which it
has all parts. What is inside of another message has a relation of its own, too, so that it can be taken out and used
again. All rules are universal and insert only, so obligations stay decidable.

Messages are typed: a nonce is never taken for a name, and no message for one of another relation. The page on what the
theory can say has the other limits.

Source: Dolev and Yao, On the Security of Public Key Protocols, IEEE Transactions on Information Theory 29(2), 1983.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from itertools import combinations

from carnet_spec.language import Draft, Formula, Individual, Kind, MisuseError, Relation, Role, Step, Symbol
from carnet_spec.language.expressions import describe, parameters
from carnet_spec.language.notation import show
from carnet_spec.language.protocol import terms_of_action
from carnet_spec.language.terms import (
    And,
    Apply,
    Equal,
    Forall,
    Implies,
    Member,
    Sort,
    Term,
    Var,
    free_variables,
    symbols_of,
)
from carnet_spec.language.tracing import called_from

SOURCE = "Dolev and Yao, On the Security of Public Key Protocols, section II"

# -- what messages are made of -----------------------------------------------------------------------------------------


class Known:
    """Values or messages that only some agents have, given as an atom of a relation.

    For a relation of the kind ``KNOWLEDGE``, an agent has it if the relation is true of the agent and the values. For
    one of the kind ``MESSAGE``, everybody has it if the relation is true of the values.
    """

    def __init__(self, relation: Relation, *values: Individual) -> None:
        """Stand for a value, or for the message that is made of ``values``.

        Raises MisuseError if the relation says neither what agents know nor what is on a wire.
        """
        self.relation = relation
        self.values = values
        self.on_a_wire = _is_on_a_wire(relation)

    def to(self, agent: Individual) -> Formula:
        """Return the formula that ``agent`` has the value or message."""
        return self.relation(*self.values) if self.on_a_wire else self.relation(agent, *self.values)


class SharedSecret(Known):
    """The Diffie-Hellman secret of two exponents, in either order."""


Field = Individual | Known  #: A part of a tuple: what everybody knows, such as a name, or what only some have.


class Primitive:
    """A message that a cryptographic primitive makes from fields, possibly under a key; two fields are a pair."""

    reveals = True  #: Whether anybody can get the fields back.
    malleable = False  #: Whether a field can be replaced without the key, and the others stay.

    def __init__(self, *fields: Field, key: Known | None = None, owner: Individual | None = None) -> None:
        """Say what goes in.

        Raises MisuseError if a field is a value that can be drawn fresh, or a message without a relation of its own.
        """
        for field in fields:
            _require_field(field)
        self.fields = fields
        self.parts = tuple(field for field in fields if isinstance(field, Known))
        """The fields that not everybody knows."""
        self.keys = () if key is None else (key,)
        """The shared key, if there is one."""
        self.public = tuple(each for each in (*fields, owner) if isinstance(each, Individual))
        """What everybody knows: fields, and the owner of a key."""
        self.secrets = tuple(each for each in (*self.keys, *self.parts) if isinstance(each, SharedSecret))
        """The Diffie-Hellman secrets that go in."""

    def terms(self, *, without: Known | None = None) -> tuple[Term, ...]:
        """Return the terms that the message is made of, including the key and its owner."""
        hidden = [*self.keys, *self.parts]
        if without is not None:
            hidden.remove(without)
        return tuple(value.term for value in (*self.public, *(value for each in hidden for value in each.values)))

    def mentions(self, exponent: Individual) -> bool:
        """Whether a field other than a shared secret contains ``exponent``."""
        others = [each for each in self.fields if not isinstance(each, SharedSecret)]
        values = (value for each in others for value in (each.values if isinstance(each, Known) else (each,)))
        return any(value.term == exponent.term for value in values)

    def shape(self, described: Container[Symbol]) -> tuple[object, ...]:
        """Return a value that is equal for messages of one form: the primitive, its key and the kinds of its fields."""
        return (type(self), *(_shape_of(each, described) for each in (*self.keys, *self.fields)))

    def unfit_argument(self, part: Known) -> Term | None:
        """Return an argument of ``part`` that is no variable, or a repeated one; None if there is none."""
        elsewhere = frozenset[Var]().union(*map(free_variables, self.terms(without=part)))
        terms = [value.term for value in part.values]
        bound = (term for term in terms if not isinstance(term, Var) or term in elsewhere or terms.count(term) > 1)
        return next(bound, None)

    def to_make(self, theory: DolevYao, agent: Individual) -> Formula | None:
        """Return the formula that ``agent`` has the key for making the message; None if no key is needed."""
        return None

    def to_open(self, theory: DolevYao, agent: Individual) -> Formula | None:
        """Return the formula that ``agent`` has the key for extracting the fields; None if no key is needed."""
        return None


class Plaintext(Primitive):
    """The fields without protection."""


class Hash(Primitive):
    """The digest of the fields."""

    reveals = False


class PublicKeyEncryption(Primitive):
    """The encryption of the fields under the public key of an agent; every agent has the public key."""

    def __init__(self, owner: Individual, *fields: Field) -> None:
        """Encrypt fields for the owner of the private key."""
        super().__init__(*fields, owner=owner)
        self.owner = owner

    def to_open(self, theory: DolevYao, agent: Individual) -> Formula:
        """Return the formula that ``agent`` has the private key."""
        return theory.has_private_key(agent, self.owner)


class Signature(Primitive):
    """The fields with a signature, which every agent can verify."""

    def __init__(self, owner: Individual, *fields: Field) -> None:
        """Sign fields with the private key of the owner."""
        super().__init__(*fields, owner=owner)
        self.owner = owner

    def to_make(self, theory: DolevYao, agent: Individual) -> Formula:
        """Return the formula that ``agent`` has the private key."""
        return theory.has_private_key(agent, self.owner)


class SymmetricEncryption(Primitive):
    """Encryption of the fields without authentication, as by a stream cipher.

    A corrupt agent that has the fields makes the message, and one that has a field puts it into a message in the place
    of another field. With a cipher, both take more. Parts of two messages under one key are not put together, as they
    can be in some modes of block ciphers. What is meant as :class:`AuthenticatedEncryption` should be said so.
    """

    malleable = True

    def __init__(self, key: Known, *fields: Field) -> None:
        """Encrypt fields under a shared key."""
        super().__init__(*fields, key=key)
        self.key = key

    def to_open(self, theory: DolevYao, agent: Individual) -> Formula:
        """Return the formula that ``agent`` has the key."""
        return self.key.to(agent)


class AuthenticatedEncryption(SymmetricEncryption):
    """Encryption that requires the key for making a message."""

    malleable = False

    def to_make(self, theory: DolevYao, agent: Individual) -> Formula:
        """Return the formula that ``agent`` has the key."""
        return self.key.to(agent)


class Mac(Primitive):
    """The message authentication code of the fields; the fields themselves are not part of the message."""

    reveals = False

    def __init__(self, key: Known, *fields: Field) -> None:
        """Authenticate fields under a shared key."""
        super().__init__(*fields, key=key)
        self.key = key

    def to_make(self, theory: DolevYao, agent: Individual) -> Formula:
        """Return the formula that ``agent`` has the key."""
        return self.key.to(agent)


# -- what is deduced ---------------------------------------------------------------------------------------------------


class DolevYao:
    """Adds the rules for what agents deduce to a draft; each method is called once per relation.

    It is used in one ``with`` statement behind the honest steps and first values, and none can be added to the draft
    from there on. At its end every message that they send, read or start with has to be described, and everything that
    they know pooled: a rule that is forgotten would hide attacks.

    ``names`` are the letters of the parameters of a rule: for agents that deduce, and for the arguments of the relation
    without the agent that knows.
    """

    def __init__(
        self,
        draft: Draft,
        by: Role,
        agent: type[Individual],
        corrupt: Callable[..., Formula],
        source: str = SOURCE,
    ) -> None:
        """Add to ``draft``, as rules of the role ``by``, what agents of the sort ``agent`` deduce.

        Args:
            draft: the draft.
            by: the role that the rules belong to.
            agent: the sort of those that deduce.
            corrupt: whether an agent does what the adversary wants. Corrupt agents make messages and have each other's
                private keys. All agents open what they have the key of.
            source: where the deductions are from.
        """
        self.draft = draft
        self.by = by
        self.agent = agent
        self.corrupt = corrupt
        self.source = source
        self._described: set[Symbol] = set()
        self._pooled: set[Symbol] = set()
        self._drawn: set[Symbol] = set()
        self._exempt: set[Symbol] = set()
        self._mentioned: set[Symbol] = set()
        """What messages are made of."""
        self._shares: dict[Symbol, Symbol] = {}
        """The shares on a wire, by whose exponents they are of."""
        self._primitives: dict[Symbol, Primitive] = {}
        self._unordered: set[Symbol] = set()
        """Secrets, and messages that are the same with the exponents of their secret in the other order."""
        self._entered = False

    def __enter__(self) -> DolevYao:
        """Refuse honest steps and first values from here on.

        Raises MisuseError if the draft has a theory of deductions already.
        """
        self.draft.close("deductions are stated in one block, behind all honest steps and first values")
        self._entered = True
        return self

    def __exit__(self, kind: type[BaseException] | None, _error: object, _traceback: object) -> None:
        """Refuse what is left open, unless something else went wrong.

        Raises MisuseError if what honest steps send or read or parts of messages are is not described, what they know
        is not pooled or nothing that the adversary has, two messages have one form or are made of each other, one has
        two names or a pair inside, a sort is known to all and to some, or an argument stands inside of a closed part
        and elsewhere.
        """
        self._entered = False
        if kind is not None:
            return
        spoken_of = dict.fromkeys((*self._honest(), *_by_name(self._mentioned)))
        for symbol in spoken_of:
            self._require_complete(symbol)
        values = self._values(dict.fromkeys((*spoken_of, *_by_name(self._pooled | self._drawn))))
        self._require_one_knowledge(values)
        self._require_no_pairs()
        self._require_parts_apart()
        self._require_distinct_forms()
        self._require_no_conversion()
        self._require_one_order()
        self._require_values_of_the_adversary(values)

    def _honest(self) -> Iterator[Symbol]:
        """Yield what honest steps write or read, and what has a first value."""
        for action in self.draft.actions:
            if action.by.honest:
                yield from (update.symbol for update in action.updates)
                for term in terms_of_action(action):
                    yield from _by_name(symbols_of(term))
        for first in self.draft.first_values:
            yield from (first.symbol, *_by_name(symbols_of(first.value)))

    def _require_complete(self, symbol: Symbol) -> None:
        known = symbol.kind is Kind.KNOWLEDGE
        of_several = known and len(symbol.domain) > 2  # an agent, and more than one value
        if (of_several or symbol.kind is Kind.MESSAGE) and symbol not in self._described:
            raise MisuseError(f"{symbol.name}: nothing says what it is made of: call message, or exempt")
        if known and symbol not in self._pooled:
            raise MisuseError(f"{symbol.name}: nothing says that colluders tell each other: call pool, or exempt")
        if known and symbol.domain[-1].fresh and not of_several and symbol not in self._drawn:
            raise MisuseError(f"{symbol.name}: nothing says that the adversary has values too: call draw, or exempt")

    def _values(self, symbols: Iterable[Symbol]) -> list[Symbol]:
        """Return those that say who knows a value, and not a message."""
        known = (each for each in symbols if each.kind is Kind.KNOWLEDGE and len(each.domain) == 2)
        open_ones = self._exempt - self._mentioned
        return [each for each in known if each not in self._primitives and each not in open_ones]

    def _require_values_of_the_adversary(self, values: Iterable[Symbol]) -> None:
        """Refuse values that nobody draws, and of which the adversary may be forgotten to have some."""
        first = {each.symbol for each in self.draft.first_values}
        for symbol in values:
            if not symbol.domain[-1].fresh and symbol not in first | self._exempt:
                raise MisuseError(
                    f"{symbol.name}: nothing says which values the adversary has from the start: call "
                    "draft.initially, or exempt"
                )

    def _require_one_knowledge(self, values: Iterable[Symbol]) -> None:
        """Refuse a sort of which some know values by two relations, or which is public in a message, too."""
        public = {value.sort: symbol for symbol, each in self._primitives.items() for value in each.public}
        first: dict[Sort, Symbol] = {}
        for symbol in values:
            sort = symbol.domain[-1]
            if (other := first.setdefault(sort, symbol)) != symbol:
                raise MisuseError(
                    f"{other.name} and {symbol.name} both say who knows a {sort.name}, and who learns one by the first "
                    "would not know it by the second: make them one relation"
                )
            if sort in public:
                raise MisuseError(
                    f"{public[sort].name} has a {sort.name} that everybody knows, and {symbol.name} says who knows "
                    f"one: write Known({symbol.name}, …) in the message"
                )

    def _require_no_pairs(self) -> None:
        for symbol, primitive in self._primitives.items():
            for part in (*primitive.keys, *primitive.parts):
                if isinstance(self._primitives.get(part.relation.symbol), Plaintext):
                    raise MisuseError(
                        f"{part.relation.symbol.name}, in {symbol.name}, is Plaintext, and a pair inside of a message "
                        "cannot be told from its fields: write the fields themselves"
                    )

    def _require_parts_apart(self) -> None:
        """Refuse a repeated argument as a check that nobody makes."""
        for symbol, primitive in self._primitives.items():
            for part in (*primitive.keys, *primitive.parts):
                if self._is_closed(part, primitive) and (term := primitive.unfit_argument(part)) is not None:
                    raise MisuseError(
                        f"{symbol.name}: {show(term)} in {part.relation.symbol.name} is no argument of its own, and "
                        "who cannot open that does not see what is in it: give it one, and compare where a reader can"
                    )
            for value in (each for part in primitive.parts if primitive.reveals for each in part.values):
                if not isinstance(value.term, Var):
                    raise MisuseError(
                        f"{symbol.name}: a reader of {show(value.term)} sees a {value.sort.name}, and not which one: "
                        "make it an argument, and compare where a reader can"
                    )

    def _is_closed(self, part: Known, primitive: Primitive) -> bool:
        """Whether a party may have a part of a message without knowing what that part was made of."""
        symbol = part.relation.symbol
        if isinstance(part, SharedSecret):  # who recomputes a digest, or has it as a key, had an exponent and a share
            return primitive.reveals and part not in primitive.keys
        is_message = part.on_a_wire or len(part.values) != 1 or symbol in self._primitives
        return is_message and symbol not in self._shares.values()

    def _require_distinct_forms(self) -> None:
        shapes = {symbol: primitive.shape(self._described) for symbol, primitive in self._primitives.items()}
        for other, symbol in combinations(shapes, 2):
            if _may_be_equal(shapes[other], shapes[symbol]):
                raise MisuseError(
                    f"{other.name} and {symbol.name} have one form, so each is taken for the other: make them one "
                    "relation, or tell them apart by a member of an enumeration in each"
                )

    def _require_no_conversion(self) -> None:
        """Refuse two malleable messages of which each becomes the other if fields beside a secret one are replaced."""
        malleable = [(symbol, each) for symbol, each in self._primitives.items() if each.malleable]
        for (other, one), (symbol, two) in combinations(malleable, 2):
            if len(one.fields) == len(two.fields) and self._keep_a_secret(one, two):
                raise MisuseError(
                    f"{other.name} and {symbol.name} are made by a cipher that lets fields be replaced, so the "
                    "adversary makes each of the other, and no rule says so: make them one relation, with what differs "
                    "as an argument, or say AuthenticatedEncryption where the cipher is that"
                )

    def _keep_a_secret(self, one: Primitive, other: Primitive) -> bool:
        """Whether two messages with as many fields, under keys of one kind, have a secret of one kind in one place."""
        first, second = (
            [_shape_of(each, self._described) for each in (*primitive.keys, *primitive.fields)]
            for primitive in (one, other)
        )
        secret = [isinstance(field, Known) for field in one.fields]
        places = zip(secret, first[1:], second[1:], strict=True)
        return first[0] == second[0] and any(hidden and a == b for hidden, a, b in places)

    def _require_one_order(self) -> None:
        for symbol, primitive in self._primitives.items():
            for part in (*primitive.keys, *primitive.parts):
                if part.relation.symbol in self._unordered and not isinstance(part, SharedSecret):
                    raise MisuseError(
                        f"{part.relation.symbol.name}, in {symbol.name}, is the same with its exponents in the other "
                        "order: write SharedSecret for a secret, and put a share into a message inside of another"
                    )

    def _require_entered(self) -> None:
        if not self._entered:
            raise MisuseError("say what messages are in 'with DolevYao(…) as theory:', so that nothing is left open")

    def exempt(self, relation: Relation) -> None:
        """Declare that the draft has its own steps and rules for a relation, so none are missing."""
        for complete in (self._described, self._pooled, self._drawn, self._exempt):
            complete.add(relation.symbol)

    def has_private_key(self, agent: Individual, owner: Individual) -> Formula:
        """Return the formula that ``agent`` has the private key of ``owner``: its own, or that of a colluder."""
        return (agent == owner) | (self.corrupt(agent) & self.corrupt(owner))

    def message(self, relation: Relation, names: str, form: Callable[..., Primitive], what: str) -> None:
        """Declare the form of a message, and add the rules by which agents open and make it.

        Raises MisuseError if the names do not fit the relation, the form is no primitive, or it lacks an argument or
        has it by a function alone that may give others the same value.

        Args:
            relation: the messages that were sent, by what they are made of. Of the kind ``KNOWLEDGE``, its first
                argument is an agent that has the message, which then occurs inside of other ones only.
            names: a letter for the agent that opens or makes it, and one for each argument.
            form: returns what the message is, for its arguments.
            what: the message in words, with ``{letter}`` for its arguments.
        """
        self._require_entered()
        agent, *arguments = self._parameters(relation, names)
        primitive, sent = form(*arguments), Known(relation, *arguments)
        if not isinstance(primitive, Primitive):
            raise MisuseError(f"{relation.symbol.name}: a message is made by a primitive, not {describe(primitive)}")
        self._require_arguments(relation.symbol, arguments, primitive)
        self._described.add(relation.symbol)
        self._primitives[relation.symbol] = primitive
        self._mentioned |= {each.relation.symbol for each in (sent, *primitive.parts, *primitive.keys)}
        self._add_making(sent, primitive, agent, what)
        if primitive.reveals and primitive.parts:
            self._add_opening(sent, primitive, agent, what)
        if primitive.secrets:
            self._add_swapping(sent, primitive, agent, what)
        for number in range(len(primitive.fields)) if primitive.malleable else ():
            self._add_altering(sent, form, number, agent, what)

    def _require_arguments(self, symbol: Symbol, arguments: Sequence[Individual], primitive: Primitive) -> None:
        inside = frozenset[Term]().union(*map(free_variables, primitive.terms()))
        told = {each for term in primitive.terms() for each in self._determined(term)}
        for argument in arguments:
            if argument.term not in inside:
                raise MisuseError(f"{symbol.name}: the message is not made of {argument!r}: make it a field")
            if argument.term not in told:
                raise MisuseError(
                    f"{symbol.name}: {argument!r} is in the message by a function alone, which may give another the "
                    "same value: make it a field, or state before as an axiom of the draft that "
                    "forall(lambda x, y: implies(f(x) == f(y), x == y), …)"
                )

    def _determined(self, term: Term) -> Iterator[Term]:
        """Yield the variables whose values are told by that of a term."""
        if isinstance(term, Var):
            yield term
        elif isinstance(term, Apply) and any(_says_injective(each.formula, term.symbol) for each in self.draft.axioms):
            for argument in term.args:
                yield from self._determined(argument)

    def pool(self, relation: Relation, names: str, what: str, *, name: str = "") -> None:
        """Add the rule that a corrupt agent tells another one what it knows.

        Raises MisuseError if the names do not fit the relation, or it says what is on a wire.

        Args:
            relation: what an agent knows.
            names: letters for the one that tells, the one that is told, and each argument.
            what: what is told, in words, with ``{letter}`` for its arguments.
            name: what the rule is called; without one, after the relation.
        """
        known = self._parameters(relation, names, agents=2)
        p, q, *values = known
        if _is_on_a_wire(relation):
            raise MisuseError(f"{relation.symbol.name} is on a wire, so nobody has to tell it")

        def tell(step: Step) -> None:
            step.given("colluders", self.corrupt(p) & self.corrupt(q) & relation(p, *values))
            step.insert(relation(q, *values))

        self._pooled.add(relation.symbol)
        says = f"{{{names[0]}}} tells {{{names[1]}}} {what}."
        self._rule(name or f"pool_{relation.symbol.name}", known, says, tell)

    def draw(self, relation: Relation, names: str, what: str) -> None:
        """Add the step that a corrupt agent draws a fresh value, at a cost of 1.

        Raises MisuseError if the names do not fit the relation, or it is not that of an agent and a fresh value.

        Args:
            relation: that an agent knows the value.
            names: letters for the agent and the value.
            what: what is drawn, in words, with ``{letter}`` for the value.
        """
        p, *values = known = self._parameters(relation, names)
        if len(values) != 1 or not values[0].sort.fresh or _is_on_a_wire(relation):
            raise MisuseError(f"{relation.symbol.name}: an agent draws one value of a sort with fresh=True")

        def draw(step: Step) -> None:
            step.says(f"{{{names[0]}}} draws {what}.")
            step.given("corrupt", self.corrupt(p))
            step.fresh(values[0])
            step.insert(relation(p, *values))

        self._drawn.add(relation.symbol)
        name = f"draw_{relation.symbol.name}"
        self.draft.action(self.by, self.source, cost=1)(_function(name, known, draw))
        self.draft.stated_at["action", name] = called_from()

    def exchange(self, exponents: Relation, shares: Relation, secrets: Relation, names: str) -> None:
        """Add the rules of Diffie-Hellman: from an exponent and another's share follows their shared secret.

        A share is named by its exponent, and a secret by its two exponents in either order. There is nothing else: no
        product, sum or inverse of exponents, and no share but powers of the generator whose exponent somebody drew.

        Raises MisuseError if the names do not fit, the relations are not about the same exponents, or these have shares
        already.

        Args:
            exponents: which exponent an agent knows.
            shares: which shares are on a wire.
            secrets: of which two exponents an agent knows the secret.
            names: letters for an agent and two exponents.
        """
        self._require_entered()
        every = self._parameters(secrets, names)
        if len(every) != 3 or _is_on_a_wire(exponents) or not _is_on_a_wire(shares) or _is_on_a_wire(secrets):
            raise MisuseError("agents know exponents, and secrets of two of them, and shares are on a wire")
        p, x, y = every
        known, share = Known(exponents, x), Known(shares, x)
        if (earlier := self._shares.get(exponents.symbol)) is not None:
            raise MisuseError(
                f"{exponents.symbol.name}: its shares are {earlier.name} already, and none is taken for the other: "
                "make them one relation"
            )
        self._described |= {shares.symbol, secrets.symbol}
        self._shares[exponents.symbol] = shares.symbol
        self._unordered.add(secrets.symbol)
        self._mentioned |= {exponents.symbol, secrets.symbol}

        def publish(step: Step) -> None:
            step.given("has the exponent", self.corrupt(p) & known.to(p))
            step.insert(share.to(p))

        def agree(step: Step) -> None:
            step.given("has an exponent and the other's share", known.to(p) & shares(y))
            step.insert(secrets(p, x, y), name="learn the secret")
            step.insert(secrets(p, y, x), name="learn the same secret")

        a, own, other = (f"{{{name}}}" for name in names)
        self._rule(f"make_{shares.symbol.name}", (p, x), f"{a} computes the share of {own}.", publish)
        says = f"{a} computes the secret of {own} and {other}."
        self._rule(f"make_{secrets.symbol.name}", every, says, agree)

    # -- rules of one message ------------------------------------------------------------------------------------------

    def _add_making(self, sent: Known, primitive: Primitive, agent: Individual, what: str) -> None:
        def make(step: Step) -> None:
            step.given("corrupt", self.corrupt(agent))
            _guard(step, "has the key", primitive.to_make(self, agent))
            for number, part in enumerate(primitive.parts, 1):
                step.given(f"has part {number}", part.to(agent))
            step.insert(sent.to(agent))

        name = f"make_{sent.relation.symbol.name}"
        self._rule(name, (agent, *sent.values), f"{_place(agent)} makes {what}.", make)

    def _add_opening(self, sent: Known, primitive: Primitive, agent: Individual, what: str) -> None:
        def read(step: Step) -> None:
            step.given("has the message", sent.to(agent))
            _guard(step, "has the key", primitive.to_open(self, agent))
            for number, part in enumerate(primitive.parts, 1):
                published = self.corrupt(agent) if part.on_a_wire else None
                step.insert(part.to(agent), when=published, name=f"learn part {number}")

        name = f"open_{sent.relation.symbol.name}"
        self._rule(name, (agent, *sent.values), f"{_place(agent)} opens {what}.", read)

    def _add_altering(
        self, sent: Known, form: Callable[..., Primitive], number: int, agent: Individual, what: str
    ) -> None:
        """Add that a field is replaced by another, and so is what shares an argument with it.

        There is nothing to add if it shares one with the key, or if nothing secret stays: who has the parts makes it.
        """
        before = form(*sent.values)
        replaced = _variables(before.fields[number])
        stays = [part for part in before.parts if not _variables(part) & replaced]
        if not replaced or not stays or any(_variables(key) & replaced for key in before.keys):
            return
        others: dict[Term, Individual] = {each.term: _another(each) for each in sent.values if each.term in replaced}
        altered = Known(sent.relation, *(others.get(each.term, each) for each in sent.values))
        parts = [part for part in form(*altered.values).parts if not _variables(part) <= _variables(*before.fields)]

        def alter(step: Step) -> None:
            step.given("has the message", self.corrupt(agent) & sent.to(agent))
            for place, part in enumerate(parts, 1):
                step.given(f"has new part {place}", part.to(agent))
            step.insert(altered.to(agent))

        name = f"alter_{sent.relation.symbol.name}_{number + 1}"
        params = (agent, *sent.values, *others.values())
        self._rule(name, params, f"{_place(agent)} changes {what}.", alter)

    def _add_swapping(self, sent: Known, primitive: Primitive, agent: Individual, what: str) -> None:
        """Add that a message stays the same if the exponents of its secret change places.

        There is nothing to add if a field mentions one of them: the message has one name then.
        """
        x, y = self._exponents(sent, primitive)
        if primitive.mentions(x) or primitive.mentions(y):
            return
        self._unordered.add(sent.relation.symbol)
        places = {x.term: y, y.term: x}
        same = Known(sent.relation, *(places.get(each.term, each) for each in sent.values))

        def swap(step: Step) -> None:
            step.given("has the message", sent.to(agent))
            step.insert(same.to(agent))

        says = f"With {_place(x)} and {_place(y)} in the other order, {what} is the same."
        params = sent.values if sent.on_a_wire else (agent, *sent.values)
        self._rule(f"swap_{sent.relation.symbol.name}", params, says, swap)

    @staticmethod
    def _exponents(sent: Known, primitive: Primitive) -> tuple[Individual, Individual]:
        """Return the two exponents of the secret that a message is made of.

        Raises MisuseError if it is made of several secrets, or of exponents that are not its arguments.
        """
        (x, y), *others = (secret.values for secret in primitive.secrets)
        arguments = [each.term for each in sent.values]
        if others or x.term not in arguments or y.term not in arguments:
            raise MisuseError(f"{sent.relation.symbol.name}: a message has one SharedSecret, of two of its arguments")
        return x, y

    # -- parameters ----------------------------------------------------------------------------------------------------

    def _parameters(self, relation: Relation, names: str, agents: int = 1) -> tuple[Individual, ...]:
        """Return agents and the arguments of a relation, called ``names``.

        Raises MisuseError if there are too few or too many names, or the relation says what others know.
        """
        arguments = parameters(relation)
        if not _is_on_a_wire(relation):
            if not arguments or arguments[0].sort != self.agent.sort:
                raise MisuseError(
                    f"{relation.symbol.name}: its first argument must be the {self.agent.__name__} that knows"
                )
            arguments = arguments[1:]
        count = agents + len(arguments)
        if len(names) != count or len(set(names)) != count:
            raise MisuseError(f"{relation.symbol.name}: '{names}' must be {count} different letters, agents first")
        sorts = (*(self.agent,) * agents, *(type(each) for each in arguments))
        return tuple(sort(Var(name, sort.sort)) for name, sort in zip(names, sorts, strict=True))

    def _rule(self, name: str, params: Sequence[Individual], says: str, body: Callable[[Step], None]) -> None:
        self.draft.rule(self.by, self.source, says=says)(_function(name, params, body))
        self.draft.stated_at["action", name] = called_from()


def _is_on_a_wire(relation: Relation) -> bool:
    kind = relation.symbol.kind
    if kind not in (Kind.MESSAGE, Kind.KNOWLEDGE):
        raise MisuseError(f"{relation.symbol.name} is of the kind {kind.name}: a message is MESSAGE or KNOWLEDGE")
    return kind is Kind.MESSAGE


def _require_field(field: object) -> None:
    if isinstance(field, Individual) and field.sort.fresh:
        raise MisuseError(f"not everybody knows {field!r}: write Known(relation, value), with the relation of who does")
    if isinstance(field, Primitive):
        raise MisuseError(
            f"a {type(field).__name__} inside of a message can be taken out: give it a relation, and write Known"
        )
    if not isinstance(field, Individual | Known):
        raise MisuseError(f"a field of a message is an element or Known, not {describe(field)}")


def _shape_of(field: Field, described: Container[Symbol]) -> object:
    """Return a message's relation, a member of an enumeration, or the sort of what can be any of that sort."""
    if not isinstance(field, Known):
        return field.term if isinstance(field.term, Member) else field.sort
    is_message = len(field.values) != 1 or field.relation.symbol in described
    return field.relation.symbol if is_message else field.values[0].sort


def _may_be_equal(one: tuple[object, ...], other: tuple[object, ...]) -> bool:
    """Whether a message may have two shapes: a variable of an enumeration may be any of its members."""

    def sort(each: object) -> object:
        return each.sort if isinstance(each, Member) else each

    return len(one) == len(other) and all(
        a == b if isinstance(a, Member) and isinstance(b, Member) else sort(a) == sort(b)
        for a, b in zip(one, other, strict=True)
    )


def _says_injective(axiom: Term, function: Symbol) -> bool:
    """Whether an axiom says that equal values of a function have equal arguments."""
    match axiom:
        case Forall(bound, Implies(Equal(Apply(left, xs), Apply(right, ys)), equal)) if left == right == function:
            pairs = {frozenset(pair) for pair in zip(xs, ys, strict=True)}
            said = {frozenset((a, b)) for a, b in _equations(equal)}
            return len({*xs, *ys}) == 2 * len(xs) and {*xs, *ys} <= {*bound} and pairs == said
        case _:
            return False


def _equations(formula: Term) -> Iterator[tuple[Term, Term]]:
    match formula:
        case Equal(left, right):
            yield left, right
        case And(parts):
            for part in parts:
                yield from _equations(part)


def _by_name(symbols: Iterable[Symbol]) -> list[Symbol]:
    return sorted(symbols, key=lambda each: each.name)


def _variables(*fields: Field) -> frozenset[Var]:
    values = (value for each in fields for value in (each.values if isinstance(each, Known) else (each,)))
    return frozenset[Var]().union(*(free_variables(value.term) for value in values))


def _another(param: Individual) -> Individual:
    """Return a parameter for a value in the place of that of another one."""
    assert isinstance(param.term, Var)
    return type(param)(Var(f"other_{param.term.name}", param.term.sort))


def _guard(step: Step, name: str, formula: Formula | None) -> None:
    if formula is not None:
        step.given(name, formula)


def _place(param: Individual) -> str:
    """Return where a sentence has the value of a parameter."""
    assert isinstance(param.term, Var)
    return f"{{{param.term.name}}}"


def _function(name: str, params: Sequence[Individual], body: Callable[[Step], None]) -> Callable[..., None]:
    """Return ``body`` as a function that has ``params`` behind its step, as a draft reads it."""

    def function(step: Step, *_params: Individual) -> None:
        body(step)

    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    every = [inspect.Parameter("step", kind)]
    for param in params:
        assert isinstance(param.term, Var)
        every.append(inspect.Parameter(param.term.name, kind, annotation=type(param)))
    function.__name__ = name
    function.__signature__ = inspect.Signature(every)  # type: ignore[attr-defined]  # what inspect reads in its place
    return function
