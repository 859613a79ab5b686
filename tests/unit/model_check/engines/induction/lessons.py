"""Small protocols about lessons and secrets that prove, or fail to, in one known way each."""

from carnet_spec.language import *


class Person(Individual):
    """Whoever learns."""


class Mood(Individual):
    """How the teacher feels."""

    CALM = member()
    CROSS = member()


TEACHER = Role("teacher")
corrupt = rigid_relation("corrupt", Person, kind=Kind.TRUTH)
teacher = constant("teacher", Person)
mood = variable("mood", Mood, of=TEACHER)
told = relation("told", Person, kind=Kind.MESSAGE)
knows = relation("knows", Person, kind=Kind.KNOWLEDGE)
blamed = relation("blamed", Person, kind=Kind.GHOST)

EVERYONE = ("honest", "anyone")


def draft() -> Draft:
    """The teacher tells honest people only; a threat model without corrupt people makes one more claim true."""
    lesson = Draft("lesson", "A lesson")
    lesson.assumption("A1", "The teacher is honest.")
    lesson.axiom("teacher honest", ~corrupt(teacher), assumption="A1")
    lesson.axiom("idle", corrupt(teacher) | ~corrupt(teacher), assumption="A1")
    lesson.threat("honest", "nobody is corrupt", nobody=forall(lambda x: ~corrupt(x), Person))
    lesson.threat("anyone", "anyone may be corrupt")
    lesson.defence("screening", "Corrupt people are told nothing.")
    lesson.defence("forgetting", "A cross teacher's pupils forget.")
    lesson.initially(mood, Mood.CALM)
    _actions(lesson)
    _claims(lesson)
    return lesson


def _actions(lesson: Draft) -> None:
    @lesson.action(by=TEACHER, says="the teacher tells {to}", source="folklore")
    def tell(step: Step, to: Person) -> None:
        step.require("calm", mood == Mood.CALM)
        step.require("screened", ~corrupt(to), defence="screening")
        step.insert(told(to))

    @lesson.action(by=TEACHER, says="the teacher is cross", source="folklore")
    def grow_cross(step: Step) -> None:
        step.remove(told(step.each(Person)), defence="forgetting")
        step.set(mood, Mood.CROSS)

    @lesson.rule(by=TEACHER, says="{x} learns", source="folklore")
    def learn(step: Step, x: Person) -> None:
        step.given("told", told(x))
        step.insert(knows(x))

    @lesson.action(by=TEACHER, says="{x} is blamed", source="folklore")
    def blame(step: Step, x: Person) -> None:
        step.given("corrupt", corrupt(x))
        step.insert(blamed(x))


def _claims(lesson: Draft) -> None:
    @lesson.claim(name="secrecy", sentence="s", requirement="R", source="folklore", under=EVERYONE)
    def _(x: Person) -> Formula:
        return implies(corrupt(x), ~knows(x))

    @lesson.claim(name="quiet", sentence="s", requirement="R", source="folklore", under=EVERYONE)
    def _(x: Person) -> Formula:
        return implies(mood == Mood.CROSS, ~told(x))

    @lesson.claim(name="no-blame", sentence="s", requirement="R", source="folklore", under=("honest",))
    def _(x: Person) -> Formula:
        return ~blamed(x)

    @lesson.claim(name="wrong", sentence="s", requirement="R", source="folklore", under=EVERYONE)
    def _(x: Person) -> Formula:
        return ~knows(x)

    @lesson.lemma
    def told_are_honest(x: Person) -> Formula:
        """Whoever was told is honest."""
        return implies(told(x), ~corrupt(x))
