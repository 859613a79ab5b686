"""Small protocols that were given wrong verdicts, each by its own function."""

from __future__ import annotations

from collections.abc import Callable

from carnet_check.loading.default_instance import default_instance
from carnet_spec import language
from carnet_spec.language import Draft, Formula, Kind, Relation, Role, Step, exists, flag, implies, relation, used

SOMEBODY = Role("somebody")


class Party(language.Individual):
    """Somebody."""


class Key(language.Individual, fresh=True):
    """A key."""


class Token(language.Individual):
    """Something that nobody draws."""


def _small(id: str, title: str, *, variant: str = "main") -> Draft:
    small = Draft(id, title, variant)
    small.threat("any", "nothing is assumed")
    return small


def _claim(small: Draft, name: str, says: str) -> Callable[[Callable[..., Formula]], object]:
    return small.claim(name=name, sentence=says, requirement="R-1", source="found", under=("any",))


def circle_of_early_reads() -> Draft:
    """R4: two functions are read through one another before either is written, and the lint lets it pass.

    ``back(there(x)) == x`` reads ``there`` at ``x``, which is a value of ``back``, and ``back`` at a value of
    ``there``. The lint takes a value to have been assigned, so each read excuses the other. But both functions hold
    anything at first. Only one first value was explored, with which nobody but the first party could ``use``.
    """
    there = language.function("there", Party, to=Party, kind=Kind.STATE, of=SOMEBODY, says="who it was paired with")
    back = language.function("back", Party, to=Party, kind=Kind.STATE, of=SOMEBODY, says="who was paired with it")
    paired = flag("paired", of=SOMEBODY, says="a pair was made")
    both_used = flag("both_used", of=SOMEBODY, says="two parties used their pairs")
    small = _small("circle", "A circle of reads")

    @small.action(by=SOMEBODY, says="{x} and {y} are a pair", source="found")
    def pair(step: Step, x: Party, y: Party) -> None:
        step.set(there(x), y)
        step.set(back(y), x)
        step.insert(paired)

    @small.action(by=SOMEBODY, says="{x} and {y} use their pairs", source="found")
    def use(step: Step, x: Party, y: Party) -> None:
        step.require("two", x != y)
        step.require("there and back", (back(there(x)) == x) & (back(there(y)) == y))
        step.insert(both_used)

    _claim(small, "made first", "Pairs are made.")(lambda: implies(both_used, paired))
    return small


def constants_coincide() -> Draft:
    """R7: the checker's own instance gives two constants two elements, and the claim is false where they are one.

    EXHAUSTED was printed of the claim, for it was explored with one meaning of the rigid symbols.
    """
    boss = language.constant("boss", Party, says="who decides")
    deputy = language.constant("deputy", Party, says="who decides when nobody else does")
    asked = relation("asked", Party, kind=Kind.STATE, of=SOMEBODY, says="was asked")
    small = _small("coincide", "Constants that coincide")

    @small.action(by=SOMEBODY, says="the boss is asked", source="found")
    def ask(step: Step) -> None:
        step.insert(asked(boss))

    @_claim(small, "spared", "No deputy is asked.")
    def _(x: Party) -> Formula:
        return implies(asked(x), x != deputy)

    return small


def flag_named_like_a_switch() -> Draft:
    """R5, R11: a flag of the specification has the name of the prover's switch for an update.

    That the update happens is a hypothesis of its obligation, and so was the flag: a claim that needs the flag was
    PROVED.
    """
    done, paid = flag("done", of=SOMEBODY, says="it was done"), language.rigid_flag("$on.insert done")
    small = _small("switch", "A flag named like a switch")
    small.defence("care", "it is done with care")

    @small.action(by=SOMEBODY, says="it is done", source="found")
    def do(step: Step) -> None:
        step.insert(done, defence="care")

    _claim(small, "paid", "What is done is paid.")(lambda: implies(done, paid))
    return small


def given_back() -> Draft:
    """R1: a key that is given back is drawn again, or another one is: the explorer drew the least unused one only."""
    seen = relation("seen", Key, kind=Kind.MESSAGE, says="was seen")
    small = _small("given-back", "A key that is given back")

    @small.action(by=SOMEBODY, says="{key} is drawn", message="a -> b: {key}", source="found")
    def draw(step: Step, key: Key) -> None:
        step.given("none is out", ~exists(used, Key))
        step.fresh(key)
        step.insert(seen(key))

    @small.action(by=SOMEBODY, says="{key} is given back", source="found")
    def give_back(step: Step, key: Key) -> None:
        step.given("it is out", used(key))
        step.remove(used(key))

    @_claim(small, "one key", "There is one key.")
    def _(x: Key, y: Key) -> Formula:
        return implies(seen(x) & seen(y), x == y)

    return small


def larger_premise() -> Draft:
    """R8: what a premise speaks of takes three parties, so the claim was VACUOUS; with three it is false."""
    crowd, calm = flag("crowd", of=SOMEBODY, says="there was a crowd"), flag("calm", of=SOMEBODY, says="all is calm")
    small = _small("larger", "What only three can do")

    @small.action(by=SOMEBODY, says="{x}, {y} and {z} meet", source="found")
    def meet(step: Step, x: Party, y: Party, z: Party) -> None:
        step.require("three", (x != y) & (y != z) & (x != z))
        step.insert(crowd)

    _claim(small, "calm", "A crowd is calm.")(lambda: implies(crowd, calm))
    return small


def _doors(variant: str, layer: Callable[[Draft, Relation], None]) -> Draft:
    """Return doors that nobody opens, so that nobody is in, or a layer over them that opens some."""
    opened = relation("opened", Party, kind=Kind.STATE, of=SOMEBODY, says="is open")
    entered = flag("entered", of=SOMEBODY, says="somebody went in")
    noted = flag("noted", of=SOMEBODY, says="somebody took a note")
    small = _small("doors", "Doors that nobody opens", variant=variant)

    @small.action(by=SOMEBODY, says="somebody enters by {x}", source="found")
    def enter(step: Step, x: Party) -> None:
        step.require("open", opened(x))
        step.insert(entered)

    if variant == "main":

        @small.lemma
        def shut(x: Party) -> Formula:
            """No door is open."""
            return ~opened(x)

        _claim(small, "empty", "Nobody is in.")(lambda: ~entered)
        return small

    @small.superpose("enter")
    def _(step: Step) -> None:
        step.insert(noted)

    layer(small, opened)
    _claim(small, "notes", "Notes are true.")(lambda: implies(noted, entered))
    return small


def _family(draft: Callable[[str], Draft], says: str) -> language.Family:
    return language.Family(
        id="doors",
        title="Doors that nobody opens",
        draft=draft,
        instance=default_instance,
        variants={
            "main": language.Variant("main", "as written"),
            "layer": language.Variant("layer", says, over="main"),
        },
    )


def _unlocking(small: Draft, opened: Relation) -> None:
    @small.action(by=SOMEBODY, says="{x} is opened", source="found")
    def unlock(step: Step, x: Party) -> None:
        step.insert(opened(x))


def _open_at_first(small: Draft, opened: Relation) -> None:
    def everywhere(x: Party) -> Formula:
        return language.true

    small.initially(opened, everywhere)


#: R6: a layer opens what the design below reads and never opens, and what is proved below falls in the layer.
read_below_written_above = _family(lambda variant: _doors(variant, _unlocking), "with keys")

#: R6, its other half: a layer gives a first value to what the design reads, and a claim proved below falls.
#:
#: ``Draft.superpose`` refuses to change what the design changes. Nothing refuses a first value: below, ``opened``
#: starts empty and nothing opens a door, so ``entered`` is never true. In the layer every door is open at first, and
#: erasing the layer from a run leaves no run of the design.
layer_gives_a_first_value = _family(lambda variant: _doors(variant, _open_at_first), "all is open")


def names_that_end_in_numbers() -> Draft:
    """R2: the explorer's generated code refers to two relations by one name.

    It named what belongs to a symbol by the symbol's name and a running number: ``key`` with 12 and ``key1`` with 2 are
    the same. Which two meet depends on the order in which symbols are mentioned; in this one a guard reads another
    relation, the explorer takes a step that is not possible, and the run ends with an error. Elsewhere a false claim
    was EXHAUSTED.
    """
    order = ("8", "13", "2", "", "9", "12", "1", "7")
    keys = [relation(f"key{ending}", Party, kind=Kind.STATE, of=SOMEBODY, says="has the key") for ending in order]
    small = _small("numbers", "Names that end in numbers")

    def taking(before: Relation | None, after: Relation) -> None:
        def take(step: Step, x: Party) -> None:
            if before is not None:
                step.require("has the one before", before(x))
            step.insert(after(x))

        take.__name__ = f"take_{after.symbol.name}"
        small.action(by=SOMEBODY, says="{x} takes the next key", source="found")(take)

    for before, after in zip([None, *keys], keys, strict=False):
        taking(before, after)

    @_claim(small, "never", "The last is not taken.")
    def _(x: Party) -> Formula:
        return ~keys[-1](x)

    return small


def obligations_of_one_name() -> Draft:
    """Two proof obligations have one name, and one of them is never asked.

    The prover calls an obligation ``step/<action>/<claim>``. That a step ``a/b`` keeps ``c``, and that a step ``a``
    keeps ``b/c``, are two questions with the name ``step/a/b/c``; they are kept in a dictionary by it. So ``c`` was
    PROVED, though ``a/b`` violates it with three parties. The explored instance has two, so nothing contradicts the
    proof.
    """
    seen = relation("seen", Party, kind=Kind.STATE, of=SOMEBODY, says="was seen")
    crowded = relation("crowded", Party, kind=Kind.STATE, of=SOMEBODY, says="was one of three")
    small = _small("obligations", "Two obligations of one name")

    def crowd(step: Step, x: Party, y: Party, z: Party) -> None:
        step.insert(crowded(x), when=(x != y) & (y != z) & (x != z))

    def see(step: Step, x: Party) -> None:
        step.insert(seen(x))

    crowd.__name__, see.__name__ = "a/b", "a"
    small.action(by=SOMEBODY, says="{x}, {y} and {z} meet", source="found")(crowd)
    small.action(by=SOMEBODY, says="{x} is seen", source="found")(see)

    @_claim(small, "b/c", "A thing is itself.")
    def _(x: Party) -> Formula:
        return ~(seen(x) & ~seen(x))

    _claim(small, "c", "There are no three.")(lambda: ~exists(crowded, Party))
    return small


def premises_of_one_name(*order: str) -> Draft:
    """The premise of one claim has the name of a premise of another, and is called met when the other is.

    A search looks for ``premise/c/1`` and ``premise/c/2``, the premises of ``c``, and for ``premise/c/1``, the only
    premise of a claim called ``c/1``, and keeps what it finds by these names. So ``c`` was established although nothing
    ever does what its first part speaks of. With the claims the other way round, the run ended with an error.
    """
    never = flag("never", of=SOMEBODY, says="what nothing ever does")
    done = flag("done", of=SOMEBODY, says="it was done")
    small = _small("premises", "Two premises of one name")

    @small.action(by=SOMEBODY, says="it is done", source="found")
    def do(step: Step) -> None:
        step.insert(done)

    claims = {"c": lambda: implies(never, done) & implies(done, ~never), "c/1": lambda: implies(done, done)}
    for name in order or ("c", "c/1"):
        _claim(small, name, "So it is.")(claims[name])
    return small


def premises_in_another_order() -> Draft:
    """Write the same protocol down with the claim of two premises last."""
    return premises_of_one_name("c/1", "c")


def read_before_written() -> Draft:
    """R10: a claim reads a variable that nothing has written yet, and only its first value was explored."""
    turn = language.variable("turn", Party, of=SOMEBODY, says="whose turn it is")
    first = language.variable("first", Party, of=SOMEBODY, says="who began")
    moved = flag("moved", of=SOMEBODY, says="somebody moved")
    small = _small("unwritten", "A variable without a first value")

    @small.action(by=SOMEBODY, says="{x} moves", source="found")
    def move(step: Step, x: Party) -> None:
        step.require("not yet", ~moved)
        step.set(turn, x)
        step.set(first, x)
        step.insert(moved)

    _claim(small, "same", "Who began is on.")(lambda: turn == first)
    return small


def sort_called_bool() -> Draft:
    """A sort called ``Bool`` is taken for the truth values.

    ``Sort("Bool")`` equals the language's own sort of formulas, so it is left out of the protocol's sorts and its
    elements are compared as formulas are: every exploration ended with an error, exit code 5. The name should be
    refused.
    """

    class Bool(language.Individual):
        """A sort of an unlucky name."""

    seen = relation("seen", Bool, kind=Kind.STATE, of=SOMEBODY, says="was seen")
    small = _small("bool", "A sort called Bool")

    @small.action(by=SOMEBODY, says="{x} is seen", source="found")
    def see(step: Step, x: Bool) -> None:
        step.insert(seen(x))

    @_claim(small, "unseen", "Nothing is seen.")
    def _(x: Bool) -> Formula:
        return ~seen(x)

    return small


def sort_of_a_variable_only() -> Draft:
    """A sort that only a quantifier or a claim's parameter has is missing from the protocol's sorts.

    ``Protocol.sorts`` lists the sorts of symbols and of actions' parameters. A claim over a sort that no symbol speaks
    of makes an instance without elements of it: every exploration ended with an error, exit code 5.
    """
    done = flag("done", of=SOMEBODY, says="it was done")
    small = _small("only-a-variable", "A sort that only a variable has")

    @small.action(by=SOMEBODY, says="it is done", source="found")
    def do(step: Step) -> None:
        step.insert(done)

    @_claim(small, "one", "There is one party.")
    def _(x: Party, y: Party) -> Formula:
        return x == y

    return small


def sweep_then_narrow() -> Draft:
    """A narrow update after a sweep over all is an exception to it: the order of writing is the meaning."""
    taken = relation("taken", Party, kind=Kind.MESSAGE, says="is taken")
    small = _small("seats", "One seat is taken")

    @small.action(by=SOMEBODY, says="{seat} is taken", message="a -> b: {seat}", source="found")
    def sit(step: Step, seat: Party) -> None:
        step.remove(taken(step.each(Party)))
        step.insert(taken(seat))

    @_claim(small, "one seat", "One seat is taken.")
    def _(x: Party, y: Party) -> Formula:
        return implies(taken(x) & taken(y), x == y)

    @_claim(small, "no seat", "No seat is taken.")
    def _none(x: Party) -> Formula:
        return ~taken(x)

    return small


def unset_variable_of_a_fresh_sort() -> Draft:
    """R10 and R1 together: a variable that nothing has written holds a key that nobody has drawn.

    Unused keys are alike as long as nothing names one of them. Here ``last`` does from the start: it holds any key. The
    explorer gave it the first key, and drew the first key first, so the claim was EXHAUSTED. To start ``last`` at every
    key *up to renaming* would not help: with ``last`` at the first key, it is the second one that has to be drawn.
    """
    last = language.variable("last", Key, of=SOMEBODY, says="the key of the last run")
    seen = relation("seen", Key, kind=Kind.MESSAGE, says="was seen")
    small = _small("unset-key", "A variable that holds an unused key")

    @small.action(by=SOMEBODY, says="{key} is drawn", message="a -> b: {key}", source="found")
    def draw(step: Step, key: Key) -> None:
        step.fresh(key)
        step.insert(seen(key))

    @_claim(small, "used", "The last key is used.")
    def _(key: Key) -> Formula:
        return implies(seen(key), used(last))

    return small


def updates_that_disagree() -> Draft:
    """V5: two updates of one step disagree about one fact, and the engines let the last one win."""
    ready = relation("ready", Party, kind=Kind.STATE, of=SOMEBODY, says="is ready")
    small = _small("disagree", "Updates that disagree")

    @small.action(by=SOMEBODY, says="{x} takes over from {y}", source="found")
    def take_over(step: Step, x: Party, y: Party) -> None:
        step.insert(ready(x))
        step.remove(ready(y))

    @_claim(small, "one", "One is ready.")
    def _(x: Party, y: Party, z: Party) -> Formula:
        return ~(ready(x) & ready(y) & ready(z) & (x != y) & (y != z) & (x != z))

    return small


def variable_of_two_sorts() -> Draft:
    """R9: a claim's variable and a condition's have one name and two sorts, and meet in a proof obligation.

    The condition under which ``told`` is inserted quantifies over tokens by the variable that the claim quantifies over
    parties by. They are two variables in the language, and were one in the obligation's text: the run ended with an
    error.
    """
    held = relation("held", Party, Token, kind=Kind.STATE, of=SOMEBODY, says="holds the token")
    told = relation("told", Party, kind=Kind.STATE, of=SOMEBODY, says="was told")
    small = _small("two-sorts", "A variable of two sorts")

    @small.action(by=SOMEBODY, says="{x} takes {k}", source="found")
    def take(step: Step, x: Party, k: Token) -> None:
        step.insert(held(x, k))

    @small.action(by=SOMEBODY, says="all who hold a token are told", source="found")
    def tell(step: Step) -> None:
        party = step.each(Party)
        step.insert(told(party), when=exists(lambda x: held(party, x), Token))

    _claim(small, "untold", "Nobody is told.")(lambda: language.forall(lambda x: ~told(x), Party))
    return small
