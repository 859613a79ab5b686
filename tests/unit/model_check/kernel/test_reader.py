"""The reader of obligations and certificates: what it makes of them, and what it refuses."""

import pytest

from carnet_check.kernel.checker import Node, Refused, check
from carnet_check.kernel.reader import DEEPEST, LONGEST, read_obligation, read_refutation
from tests.unit.model_check.kernel.texts import *

RAIN = holds("now.it rains")
RAINS = "|now.it rains|"
KNOWN = read_obligation(PROVED).obligation


def read(formula: str) -> Node:
    return read_obligation(obligation(formula)).obligation.hypotheses[0]


def refused(text: str) -> str:
    with pytest.raises(Refused) as caught:
        read_obligation(text)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_an_obligation_is_read_with_its_declarations_and_its_certificate_accepted() -> None:
    found, names = read_obligation(PROVED)
    assert names == ("h 0", "goal")
    assert found.constants == ("sort.Person",)
    check(found, read_refutation(CERTIFICATE, NAMES, found.functions))
    assert KNOWN.functions == {
        "rigid.eve": ((), "sort.Person"),
        "rigid.mother": (("sort.Person",), "sort.Person"),
        "now.phase": ((), "sort.Phase"),
    }
    assert KNOWN.enumerations == {"sort.Phase": ("enum.Phase.DAY", "enum.Phase.NIGHT")}
    assert KNOWN.members == {"enum.Phase.DAY": "sort.Phase", "enum.Phase.NIGHT": "sort.Phase"}
    assert read_obligation(obligation(ALL_OLD, SOME_YOUNG.replace("now.old", "|now.old|"))) == read_obligation(PROVED)


OLD_CONSTANT = holds("now.old", bound(0))
READ = {
    "true": TRUE,
    "false": FALSE,
    RAINS: RAIN,
    f"(not {RAINS})": denied(RAIN),
    f"(and {RAINS} true)": both(RAIN, TRUE),
    f"(or {RAINS} true)": either(RAIN, TRUE),
    f"(=> {RAINS} true)": implies(RAIN, TRUE),
    f"(ite {RAINS} true false)": choose(RAIN, TRUE, FALSE),
    "(now.old par.x.Person)": OLD_CONSTANT,
    "(now.old rigid.eve)": holds("now.old", apply("rigid.eve")),
    "(= now.phase enum.Phase.DAY)": equal(apply("now.phase"), member("enum.Phase.DAY")),
    "(exists ((p sort.Person)) (= p par.x.Person))": exists("sort.Person", equal(bound(0), bound(1))),
    "(forall ((p sort.Person) (q sort.Phase)) (= p par.x.Person))": forall(
        "sort.Person", forall("sort.Phase", equal(bound(1), bound(2)))
    ),
    "(forall ((p sort.Person)) (forall ((p sort.Person)) (now.old p)))": forall(
        "sort.Person", forall("sort.Person", holds("now.old", bound(0)))
    ),
}


@pytest.mark.parametrize("formula", READ)
def test_formulas_are_read(formula: str) -> None:
    assert read(formula) == READ[formula]


def test_the_second_constant_is_beyond_the_first() -> None:
    declared = [*SYMBOLS, "(declare-const par.y.Person sort.Person)"]
    formula = "(exists ((p sort.Person)) (= par.x.Person par.y.Person))"
    (read_formula,) = read_obligation(obligation(formula, declared=declared)).obligation.hypotheses
    assert read_formula == exists("sort.Person", equal(bound(1), bound(2)))


NO_FORMULAS = (
    "(and true)",
    "(and true true true)",
    "(or)",
    "(not)",
    "(=> true)",
    "(ite true true)",
    "()",
    "(true)",
    f"({RAINS})",
    "rigid.eve",
    "par.x.Person",
    "(now.old)",
    "(now.old now.phase)",
    "(now.old par.x.Person par.x.Person)",
    "(now.older par.x.Person)",
    "(now.old (ite true par.x.Person par.x.Person))",
    "(now.old (rigid.mother))",
    "(now.old (rigid.eve))",
    "(= true true)",
    "(= par.x.Person now.phase)",
    "(= par.x.Person)",
    "(distinct par.x.Person rigid.eve)",
    "(forall () true)",
    "(forall ((p sort.People)) true)",
    "(forall ((p Bool)) true)",
    "(forall ((p)) true)",
    "(forall ((true sort.Person)) true)",
    "(forall ((p sort.Person) (p sort.Person)) true)",
    "(forall ((rigid.eve sort.Person)) true)",
    "(forall ((par.x.Person sort.Person)) true)",
    "(let ((p true)) p)",
    "(! true :named x)",
    "((forall ((p sort.Person)) true))",
)


@pytest.mark.parametrize("formula", NO_FORMULAS)
def test_what_is_no_formula_is_refused(formula: str) -> None:
    refused(obligation(formula))


NO_DECLARATIONS = {
    "a sort twice": "(declare-sort sort.Person 0)",
    "a sort with arguments": "(declare-sort sort.List 1)",
    "a sort with a word of SMT-LIB for a name": "(declare-sort Bool 0)",
    "a symbol twice": "(declare-fun rigid.eve () sort.Person)",
    "a relation that is a member": "(declare-fun enum.Phase.DAY () Bool)",
    "a constant twice": "(declare-const par.x.Person sort.Person)",
    "a constant that is true": "(declare-const par.y.Person Bool)",
    "a symbol with a word of SMT-LIB for a name": "(declare-fun and (sort.Person) Bool)",
    "an argument of no sort": "(declare-fun now.young (sort.People) Bool)",
    "a truth value as an argument": "(declare-fun now.young (Bool) Bool)",
    "an enumeration without members": "(declare-datatypes ((sort.Colour 0)) (()))",
    "a member twice": "(declare-datatypes ((sort.Colour 0)) (((red) (red))))",
    "a member with arguments": "(declare-datatypes ((sort.Colour 0)) (((red (of sort.Person)))))",
    "two enumerations": "(declare-datatypes ((a 0) (b 0)) (((c)) ((d))))",
    "a definition": "(define-fun now.f () Bool true)",
    "a check": "(check-sat)",
    "an assertion without a name": "(assert true)",
    "two in a line": "(declare-sort a 0) (declare-sort b 0)",
    "nothing": "",
    "a word": "declare-sort",
    "a comment": "; note",
    "text": '(declare-sort "a" 0)',
    "too many ends": "(declare-sort a 0))",
    "too few ends": "(declare-sort a 0",
    "a bar": "(declare-sort |a 0)",
}


@pytest.mark.parametrize("name", NO_DECLARATIONS)
def test_what_is_no_declaration_is_refused(name: str) -> None:
    refused(obligation("true", declared=(*SYMBOLS, NO_DECLARATIONS[name])))


def test_declarations_come_before_assertions_and_names_are_there_once() -> None:
    asserted = "(assert (! true :named goal))"
    assert "two hypotheses" in refused(obligation("true", declared=(*SYMBOLS, asserted)))
    assert "expected an assertion" in refused(obligation("true", declared=(asserted.replace("goal", "a"), *SYMBOLS)))


@pytest.mark.parametrize(
    "text",
    [
        "",
        PROVED + "\n",
        PROVED + "(assert false)",
        PROVED.replace("(check-sat)\n", ""),
        PROVED.replace("(set-logic ALL)", "(set-logic UF)"),
        PROVED.replace("\n", "\r\n"),
        "\n" + PROVED,
        "x" * (LONGEST + 1),
    ],
)
def test_what_is_not_framed_as_an_obligation_is_refused(text: str) -> None:
    assert "begins" in refused(text)


def test_deep_formulas_are_refused_and_crash_nothing() -> None:
    assert "parentheses" in refused(obligation("(not " * 100_000 + "true" + ")" * 100_000))
    deep = DEEPEST // 2
    assert read("(not " * deep + "true" + ")" * deep)[0] == "not"


def test_steps_are_read() -> None:
    text = "u 3 i 1 2 e0 f1 f0 w 4 s 5 c m2 x 2 0 1 1 1 0 x 0 0"
    assert read_refutation(text, NAMES, KNOWN.functions) == [
        use(3),
        instance(1, eigen(0), apply("rigid.mother", apply("rigid.eve"))),
        witness(4),
        split(5),
        cases(member("enum.Phase.DAY")),
        close((0, 1), ((1, False),)),
        close(()),
    ]


NO_CERTIFICATES = {
    "nothing": "",
    "a space": " ",
    "an unknown step": "y 0",
    "two spaces": "u  0",
    "a space at the end": "u 0 ",
    "a line": "u\n0",
    "the end in a step": "i 0 2 e0",
    "a negative number": "u -1",
    "a sign": "u +1",
    "a zero before a number": "u 01",
    "another digit": "u \u0663",
    "a line behind a number": "u 1\n",
    "a number too large": "u 1000000",
    "a direction that is none": "x 0 1 0 2",
    "a name that is not there": "c f4",
    "a function that is not declared": "c f2",
    "a bound variable": "c b0",
    "an unnumbered element": "c e",
    "a member without a number": "c m",
}


@pytest.mark.parametrize("name", NO_CERTIFICATES)
def test_what_is_no_certificate_is_refused(name: str) -> None:
    with pytest.raises(Refused):
        read_refutation(NO_CERTIFICATES[name], NAMES, KNOWN.functions)


def test_long_and_deep_certificates_are_refused_and_crash_nothing() -> None:
    with pytest.raises(Refused, match="more than"):
        read_refutation("u 0 " * LONGEST, NAMES, KNOWN.functions)
    with pytest.raises(Refused, match="expected a term"):
        read_refutation("c " + "f1 " * 100_000 + "f0", NAMES, KNOWN.functions)
    with pytest.raises(Refused, match="ends in the middle"):
        read_refutation("x 999999 0", NAMES, KNOWN.functions)
