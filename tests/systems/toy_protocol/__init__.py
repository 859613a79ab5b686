"""A letter that only its addressee opens: a whole protocol in one folder, with its text beside it.

It shares the ids ``A1`` and ``REQ-KEY-01`` with GPU Travelling on purpose, and says something else by them.
"""

from carnet_spec import language


class Person(language.Individual):
    """A person who may get letters."""


class Letter(language.Individual):
    """A letter."""


POST = language.Role("post")
READER = language.Role("reader")

addressee = language.rigid_function("addressee", Letter, to=Person, says="whom the letter is for")
written = language.rigid_relation("written", Letter, says="somebody wrote the letter")
delivered = language.relation(
    "delivered", Person, Letter, kind=language.Kind.MESSAGE, says="the letter is in the person's box"
)
opened = language.relation(
    "opened", Person, Letter, kind=language.Kind.STATE, of=READER, says="the person opened the letter"
)


def draft(variant: str = "main") -> language.Draft:
    toy = language.Draft("sealed-letter", "Sealed letter: only the addressee opens it", variant)
    toy.assumption("A1", "Boxes are locked.", built_in=True)
    toy.threat("anyone", "anyone may write letters")
    toy.defence("address-check", "the post reads the address")
    _deliver(toy)
    _claim(toy)
    return toy


def _deliver(toy: language.Draft) -> None:
    @toy.action(
        by=POST,
        says="the post delivers {letter} to {to}",
        message="post -> {to}: {letter}",
        source="folklore, 1",
        enforces="REQ-KEY-01",
    )
    def deliver(step: language.Step, to: Person, letter: Letter) -> None:
        """Boxes have names on them."""
        step.require("written", written(letter))
        step.require("the right box", addressee(letter) == to, defence="address-check")
        step.insert(delivered(to, letter))

    @toy.action(by=READER, says="{to} opens {letter}", source="folklore, 2")
    def open_letter(step: language.Step, to: Person, letter: Letter) -> None:
        step.require("delivered", delivered(to, letter))
        step.insert(opened(to, letter))


def _claim(toy: language.Draft) -> None:
    @toy.claim(
        name="sealed",
        sentence="Only the addressee opens a letter.",
        requirement="CLAIM-SEALED",
        source="folklore, 3",
        under=("anyone",),
    )
    def sealed(x: Person, letter: Letter) -> language.Formula:
        return language.implies(opened(x, letter), addressee(letter) == x)

    @toy.lemma
    def boxes_hold_own_letters(x: Person, letter: Letter) -> language.Formula:
        """What is in a box is addressed to it."""
        return language.implies(delivered(x, letter), addressee(letter) == x)

    @toy.goal(sentence="A letter is opened.")
    def opened_once(x: Person, letter: Letter) -> language.Formula:
        return opened(x, letter)


def instance(protocol: language.Protocol, threat: str, scale: language.Scale) -> language.Instance:
    """Return an instance with as many people as letters."""
    people = tuple(f"person{number}" for number in range(1, scale["people"] + 1))
    letters = tuple(f"letter{number}" for number in range(1, scale["people"] + 1))
    return language.Instance(
        elements={"Person": people, "Letter": letters},
        relations={"written": frozenset((letter,) for letter in letters)},
        functions={"addressee": {(letter,): person for letter, person in zip(letters, people, strict=True)}},
        describes=f"{len(people)} people",
    )


FAMILY = language.Family(
    id="sealed-letter",
    title="Sealed letter: only the addressee opens it",
    draft=draft,
    instance=instance,
    variants={"main": language.Variant("main", "the post reads the address")},
    profiles={"tiny": language.Profile("tiny", {"people": 2}), "ci": language.Profile("ci", {"people": 3})},
    hunts=(language.Profile("two", {"people": 2}),),
)
