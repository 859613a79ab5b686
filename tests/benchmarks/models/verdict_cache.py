"""Attestation in two phases, with retries, challenges that are numbered, and a cache of verdicts that grow old.

A verifier identifies a device, challenges it by the number of the day, and judges the quote that comes back; a verdict
is kept for some days. A host keeps quotes, delivers old ones, and boots what it likes.
"""

from itertools import pairwise

from carnet_spec import language
from carnet_spec.theories.linear_order import StrictOrder


class Device(language.Individual):
    """Is attested."""


class Day(language.Individual):
    """A number that challenges carry; days stand in line."""


class Firmware(language.Individual):
    """What a device may run."""

    GOOD = language.member()
    WEAK = language.member()


class Phase(language.Individual):
    """How far the verifier is with a device."""

    IDLE = language.member()
    GREETED = language.member()
    IDENTIFIED = language.member()
    CHALLENGED = language.member()


class Tries(language.Individual):
    """How often the verifier challenged again."""

    NONE = language.member()
    ONE = language.member()
    TWO = language.member()


class Verdict(language.Individual):
    """What the verifier keeps of a device."""

    UNKNOWN = language.member()
    PASSED = language.member()
    FAILED = language.member()


VERIFIER = language.Role("verifier")
DEVICE = language.Role("device")
HOST = language.Role("host", honest=False)

earlier = language.rigid_relation("earlier", Day, Day, says="the first day is before the second")
follows = language.rigid_relation("follows", Day, Day, says="the second day is the one after the first")
lasts = language.rigid_relation("lasts", Day, Day, says="a verdict of the first day is good on the second")
start = language.constant("start", Day, says="the first day")

today = language.variable("today", Day, of=VERIFIER, says="the day")
phase = language.function("phase", Device, to=Phase, kind=language.Kind.STATE, of=VERIFIER)
tries = language.function("tries", Device, to=Tries, kind=language.Kind.STATE, of=VERIFIER)
verdict = language.function("verdict", Device, to=Verdict, kind=language.Kind.STATE, of=VERIFIER)
judged = language.function("judged", Device, to=Day, kind=language.Kind.STATE, of=VERIFIER, says="the verdict's day")
admitted = language.relation("admitted", Device, kind=language.Kind.STATE, of=VERIFIER, says="it may do its work")
at_work = language.flag("at_work", of=VERIFIER, says="all devices work together")
asked = language.function("asked", Device, to=Day, kind=language.Kind.MESSAGE, says="the number of the last challenge")
quoted = language.relation("quoted", Device, Day, Firmware, kind=language.Kind.MESSAGE, says="a quote says so")
runs = language.function("runs", Device, to=Firmware, kind=language.Kind.TRUTH, says="what the device booted")

IN_LINE = StrictOrder("days", Day, earlier, "A1")


def draft(variant: str = "main") -> language.Draft:
    cache = language.Draft("verdict-cache", "Verdicts that are kept", variant)
    cache.assumption("A1", "Days are numbered in line.")
    IN_LINE.assume_linear(cache, first=start)
    cache.axiom(
        "the next day is later",
        language.forall(lambda one, other: language.implies(follows(one, other), earlier(one, other)), Day, Day),
        assumption="A1",
    )
    cache.threat("host", "the host keeps quotes and boots what it likes")
    cache.defence("number", "A quote has to carry the number of the challenge.")
    cache.defence("grow-old", "A verdict is good for some days.")
    cache.initially(today, start)
    cache.initially(phase, lambda _device: Phase.IDLE)
    cache.initially(tries, lambda _device: Tries.NONE)
    cache.initially(verdict, lambda _device: Verdict.UNKNOWN)
    cache.initially(judged, lambda _device: start)
    cache.initially(asked, lambda _device: start)
    cache.initially(runs, lambda _device: Firmware.GOOD)
    _asking(cache)
    _judging(cache)
    _answering(cache)
    _claims(cache)
    return cache


def _asking(cache: language.Draft) -> None:
    @cache.action(VERIFIER, "benchmark", says="{d} is greeted.", message="verifier -> {d}: who are you?")
    def greet(step: language.Step, d: Device) -> None:
        step.require("nothing going on", phase(d) == Phase.IDLE)
        step.require("nothing known", (verdict(d) == Verdict.UNKNOWN) | ~lasts(judged(d), today))
        step.set(phase(d), Phase.GREETED)

    @cache.action(VERIFIER, "benchmark", says="{d} is identified.")
    def identify(step: language.Step, d: Device) -> None:
        step.require("greeted", phase(d) == Phase.GREETED)
        step.set(phase(d), Phase.IDENTIFIED)

    @cache.action(VERIFIER, "benchmark", says="{d} is challenged.", message="verifier -> {d}: today")
    def challenge(step: language.Step, d: Device) -> None:
        step.require("identified", phase(d) == Phase.IDENTIFIED)
        step.set(phase(d), Phase.CHALLENGED)
        step.set(asked(d), today)

    @cache.action(VERIFIER, "benchmark", says="{d} is challenged again.", message="verifier -> {d}: today")
    def retry(step: language.Step, d: Device) -> None:
        step.require("no answer", (phase(d) == Phase.CHALLENGED) & (tries(d) != Tries.TWO))
        step.set(tries(d), Tries.ONE, when=tries(d) == Tries.NONE, name="once")
        step.set(tries(d), Tries.TWO, when=tries(d) == Tries.ONE, name="twice")
        step.set(asked(d), today)

    @cache.action(VERIFIER, "benchmark", says="The verifier gives {d} up.")
    def give_up(step: language.Step, d: Device) -> None:
        step.require("no answer", (phase(d) == Phase.CHALLENGED) & (tries(d) == Tries.TWO))
        step.set(phase(d), Phase.IDLE)
        step.set(tries(d), Tries.NONE)
        step.set(verdict(d), Verdict.UNKNOWN)
        step.remove(admitted(d), at_work)

    @cache.action(VERIFIER, "benchmark", says="It is {day}.")
    def pass_on(step: language.Step, day: Day) -> None:
        step.require("the next", follows(today, day))
        step.set(today, day)


def _judging(cache: language.Draft) -> None:
    @cache.action(VERIFIER, "benchmark", says="A quote of {d} of {day} says {f}.")
    def judge(step: language.Step, d: Device, day: Day, f: Firmware) -> None:
        step.require("waited for", (phase(d) == Phase.CHALLENGED) & quoted(d, day, f))
        step.require("of the challenge", asked(d) == day, defence="number")
        step.set(phase(d), Phase.IDLE)
        step.set(tries(d), Tries.NONE)
        step.set(judged(d), day)
        step.set(verdict(d), Verdict.PASSED, when=f == Firmware.GOOD, name="pass")
        step.set(verdict(d), Verdict.FAILED, when=f != Firmware.GOOD, name="fail")
        step.remove(admitted(d), at_work, when=f != Firmware.GOOD)

    @cache.action(VERIFIER, "benchmark", says="{d} is admitted.")
    def admit(step: language.Step, d: Device) -> None:
        step.require("passed", (verdict(d) == Verdict.PASSED) & ~admitted(d))
        step.require("young", lasts(judged(d), today), defence="grow-old")
        step.insert(admitted(d))

    @cache.action(VERIFIER, "benchmark", says="All devices begin to work.")
    def begin(step: language.Step) -> None:
        step.require("all", language.forall(admitted, Device) & ~at_work)
        step.insert(at_work)

    @cache.action(VERIFIER, "benchmark", says="What is known of {d} has grown old.")
    def expire(step: language.Step, d: Device) -> None:
        step.require("old", (verdict(d) != Verdict.UNKNOWN) & ~lasts(judged(d), today))
        step.set(verdict(d), Verdict.UNKNOWN)
        step.remove(admitted(d), at_work)


def _answering(cache: language.Draft) -> None:
    @cache.action(DEVICE, "benchmark", says="{d} says {f} to {day}.", message="{d} -> verifier: {f} on {day}")
    def answer(step: language.Step, d: Device, day: Day, f: Firmware) -> None:
        step.given("asked", (asked(d) == day) & ~quoted(d, day, f))
        step.given("the truth", runs(d) == f)
        step.insert(quoted(d, day, f))

    @cache.action(HOST, "benchmark", says="The host boots {f} on {d}.", cost=1)
    def boot(step: language.Step, d: Device, f: Firmware) -> None:
        step.given("another", runs(d) != f)
        step.set(runs(d), f)


def _claims(cache: language.Draft) -> None:
    @cache.claim(
        name="quoted-good", sentence="What passed said so.", requirement="R1", source="benchmark", under=("host",)
    )
    def quoted_good(d: Device) -> language.Formula:
        return language.implies(verdict(d) == Verdict.PASSED, quoted(d, judged(d), Firmware.GOOD))

    @cache.claim(
        name="not-of-tomorrow",
        sentence="No verdict, challenge or quote is of a day that is to come.",
        requirement="R2",
        source="benchmark",
        under=("host",),
    )
    def not_of_tomorrow(d: Device, day: Day, f: Firmware) -> language.Formula:
        quotes = language.implies(quoted(d, day, f), ~earlier(today, day))
        return quotes & ~earlier(today, judged(d)) & ~earlier(today, asked(d))

    @cache.claim(
        name="admitted-passed",
        sentence="What is admitted passed.",
        requirement="R3",
        source="benchmark",
        under=("host",),
    )
    def admitted_passed(d: Device) -> language.Formula:
        return language.implies(admitted(d), verdict(d) == Verdict.PASSED)

    @cache.claim(
        name="all-at-work",
        sentence="Devices work while all are admitted.",
        requirement="R4",
        source="benchmark",
        under=("host",),
    )
    def all_at_work(d: Device) -> language.Formula:
        return language.implies(at_work, admitted(d))

    @cache.goal(sentence="A device is admitted that failed on an earlier day.")
    def mended(d: Device, day: Day) -> language.Formula:
        return admitted(d) & quoted(d, day, Firmware.WEAK) & earlier(day, judged(d))

    @cache.goal(sentence="A verdict is good while the next one is waited for the second time.")
    def asked_again(d: Device) -> language.Formula:
        return admitted(d) & (phase(d) == Phase.CHALLENGED) & (tries(d) == Tries.TWO)


def instance(_protocol: language.Protocol, _threat: str, scale: language.Scale) -> language.Instance:
    """Number the days; a verdict is good on its day and on some more."""
    days = tuple(f"day{number}" for number in range(scale["days"]))
    good = ((one, day) for at, one in enumerate(days) for day in days[at : at + scale["lasts"]])
    return language.Instance(
        elements={"Device": tuple(f"device{number}" for number in range(scale["devices"])), "Day": days},
        relations={
            "earlier": language.InLine(days),
            "follows": frozenset(pairwise(days)),
            "lasts": frozenset(good),
        },
        functions={"start": {(): days[0]}},
    )


FAMILY = language.Family(
    id="verdict-cache",
    title="Verdicts that are kept",
    draft=draft,
    instance=instance,
    profiles={
        "tiny": language.Profile("tiny", {"devices": 1, "days": 3, "lasts": 2}),
        "narrow": language.Profile("narrow", {"devices": 2, "days": 3, "lasts": 1}),
    },
)
