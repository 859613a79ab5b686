"""Policies: one key is enough, what is inherited never asks for less, and the schema says what the parser reads."""

import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from carnet_ref.attestation.formats import FORMATS
from carnet_ref.attestation.policies import (
    LARGEST,
    PRESET,
    REQUIRE,
    AppraisalPolicy,
    Day,
    Flag,
    Named,
    Number,
    Octets,
    PolicyForm,
    Preset,
    Text,
    Texts,
    ValueKind,
    Words,
)
from carnet_ref.wire import MalformedError

LOADED = {name: registered.load() for name, registered in FORMATS.items()}
FORMS: dict[str, PolicyForm[Any]] = {name: form.policy for name, form in LOADED.items() if form.policy is not None}
EVERY = pytest.mark.parametrize("name", FORMS)


def parsed(name: str, policy: dict[str, object]) -> Any:
    return FORMS[name].parse(json.dumps(policy).encode())


def required(name: str, policy: dict[str, object]) -> frozenset[str]:
    steps = FORMS[name].effective(policy).values[REQUIRE]
    assert isinstance(steps, frozenset)
    return steps


def test_the_formats_that_appraise_evidence_have_policies() -> None:
    assert {"gpu", "node", "tdx", "snp"} <= set(FORMS)


@EVERY
def test_one_key_is_enough_and_the_rest_is_that_of_the_default_policy(name: str) -> None:
    form = FORMS[name]
    default = form.effective({PRESET: "default"}).values
    assert default[REQUIRE]
    for key in (each for each in form.keys.values() if each.name != REQUIRE):
        values = form.effective({key.name: key.as_json(key.default)}).values
        assert {other: values[other] for other in values if other != key.name} == {
            other: default[other] for other in default if other != key.name
        }


@EVERY
def test_steps_are_required_beside_those_of_the_preset(name: str) -> None:
    steps = FORMS[name].keys[REQUIRE].kind
    assert isinstance(steps, Words)
    for preset in Preset:
        inherited = required(name, {PRESET: str(preset)})
        for step in steps.allowed:
            assert required(name, {PRESET: str(preset), REQUIRE: [step]}) == inherited | {step}


@EVERY
@pytest.mark.parametrize("policy", [{}, {REQUIRE: []}, {PRESET: "strict", REQUIRE: []}])
def test_a_policy_without_a_key_or_with_an_empty_list_of_steps_asks_for_nothing(
    name: str, policy: dict[str, object]
) -> None:
    assert required(name, policy) == frozenset()


@EVERY
def test_presets_are_ordered_by_what_they_require(name: str) -> None:
    inventory, default, strict = (
        required(name, {PRESET: str(preset)}) for preset in (Preset.INVENTORY, Preset.DEFAULT, Preset.STRICT)
    )
    assert inventory
    assert inventory <= default < strict


@EVERY
def test_strict_relaxes_no_key_of_the_default(name: str) -> None:
    """What a key allows is a list or a flag; strict allows a part of it, and requires more."""
    default, strict = (FORMS[name].effective({PRESET: preset}).values for preset in ("default", "strict"))
    for key, value in strict.items():
        if value == default[key]:
            continue
        if key.startswith(("allow", "maximum", "tcb_statuses")):
            assert default[key] is None or value < default[key], key
        elif key.startswith("require"):
            assert default[key] is None or value > default[key], key
        elif isinstance(value, AppraisalPolicy):
            assert (value.preset, value.require > default[key].require) == (Preset.STRICT, True)
        else:
            assert default[key] is None, f"{key} asks for something where the default asks for nothing"


@EVERY
def test_a_preset_by_name_is_the_file_that_names_it(name: str) -> None:
    for preset in Preset:
        form = FORMS[name]
        assert form.preset(preset).policy == parsed(name, {PRESET: str(preset)})
    assert FORMS[name].default_policy == parsed(name, {PRESET: "default"})


@pytest.mark.parametrize("preset", Preset)
def test_a_policy_inside_of_another_inherits_from_the_same_preset(preset: Preset) -> None:
    """So that a key of it takes no step away; it may name another preset."""
    bare, one_key = parsed("tpm", {PRESET: preset}), parsed("tpm", {PRESET: preset, "tdx": {"collateral_ttl": 60}})
    assert one_key.tdx == replace(bare.tdx, collateral_ttl=60)
    assert bare.tdx == FORMS["tdx"].preset(preset).policy
    named = parsed("tpm", {PRESET: preset, "tdx": {PRESET: "strict"}})
    assert named.tdx == FORMS["tdx"].preset(Preset.STRICT).policy
    assert parsed("tpm", {PRESET: preset, "tdx": {}}).tdx.require == frozenset()


def test_of_a_report_that_a_key_comes_from_the_strict_preset_asks_for_its_run_time_data() -> None:
    """A report with a key is over that; it cannot be over a relying party's nonce as well."""
    asked, alone = parsed("tpm", {PRESET: "strict"}).snp.require, FORMS["snp"].preset(Preset.STRICT).policy.require
    assert (alone - asked, asked - alone) == ({"report-data"}, {"runtime-data"})


@EVERY
def test_each_value_says_where_it_comes_from(name: str) -> None:
    form = FORMS[name]
    key = next(each for each in form.keys if each not in form.strict and each != REQUIRE)
    value = form.keys[key].as_json(form.keys[key].default)
    step = sorted(required(name, {PRESET: "strict"}))[0]
    found = form.effective({PRESET: "strict", key: value, REQUIRE: [step]}).origins
    assert set(found) == set(form.keys)
    assert (found[key], found[REQUIRE]) == ("the policy", "preset strict and the policy")
    plain = form.effective({key: value}).origins
    assert set(plain.values()) <= {"the policy", "default"}
    assert plain[REQUIRE] == "default"


@EVERY
def test_what_is_shown_can_be_written_into_a_file(name: str) -> None:
    form = FORMS[name]
    for preset in Preset:
        effective = form.preset(preset)
        shown = {key: form.keys[key].as_json(value) for key, value in effective.values.items()}
        assert form.effective({PRESET: str(preset), **shown}).policy == effective.policy
        assert Draft202012Validator(form.schema(name)).is_valid(shown)


@EVERY
def test_every_key_has_one_line_that_says_what_it_means(name: str) -> None:
    for key in FORMS[name].keys.values():
        assert key.meaning
        assert "\n" not in key.meaning
    schema: Any = FORMS[name].schema(name)
    Draft202012Validator.check_schema(schema)
    assert {key: each["description"] for key, each in schema["properties"].items() if key != PRESET} == {
        key.name: key.meaning for key in FORMS[name].keys.values()
    }


@pytest.mark.parametrize(
    ("name", "policy", "where", "expected"),
    [
        ("tdx", {"rejected_advisories": ["INTEL-SA-837"]}, "policy: rejected_advisories", "INTEL-SA-00837"),
        ("tdx", {"rejected_advisories": [""]}, "policy: rejected_advisories", "INTEL-SA-00837"),
    ],
)
def test_advisories_that_no_collateral_names_are_refused(
    name: str, policy: dict[str, object], where: str, expected: str
) -> None:
    """They would apply to no platform."""
    with pytest.raises(MalformedError, match=expected) as error:
        parsed(name, policy)
    assert error.value.what == where


@pytest.mark.parametrize(
    ("name", "policy", "where", "hint"),
    [
        ("gpu", {"minimum_drivers": "595"}, "policy", "'minimum_driver'"),
        ("gpu", {"requires": []}, "policy", "'require'"),
        ("gpu", {"allow-debug": True}, "policy", "'allow_debug'"),
        ("tdx", {"Measurements": {}}, "policy", "'measurements'"),
        ("tdx", {"measurements": {"rtmr": []}}, "policy: measurements", "'rtmr"),
        ("tdx", {"tcb_statuses": ["uptodate"]}, "policy: tcb_statuses", "'UpToDate'"),
        ("snp", {"minimum_tcb": {"milan": {}}}, "policy: minimum_tcb", "'Milan'"),
        ("snp", {"minimum_tcb": {"Milan": {"microcodes": 1}}}, "policy: minimum_tcb: Milan", "'microcode'"),
        ("snp", {"require": ["report_data"]}, "policy: require", "'report-data'"),
        ("node", {"require_link": True}, "policy", "'require_links'"),
        ("node", {"preset": "strikt"}, "policy: preset", "'strict'"),
    ],
)
def test_an_unknown_word_is_named_with_its_place_and_the_nearest_known_one(
    name: str, policy: dict[str, object], where: str, hint: str
) -> None:
    with pytest.raises(MalformedError) as error:
        parsed(name, policy)
    assert error.value.what == where
    assert f"did you mean {hint}" in str(error.value)


def test_nothing_is_guessed_for_a_word_that_is_near_to_none() -> None:
    with pytest.raises(MalformedError) as error:
        parsed("gpu", {"xyzzy": 1})
    assert "did you mean" not in str(error.value)


KINDS: list[tuple[ValueKind, list[object], list[object]]] = [
    (Flag(), [True, False], [None, 0, "true", []]),
    (Number(), [0, 5, 10**30], [-1, True, 1.5, "1", None]),
    (Number(1, 3), [1, 3], [0, 4]),
    (Text("[0-9]{1,3}", "a short number"), ["1", "123"], ["", "1234", "12x", 1, "1\n"]),
    (
        Day(),
        ["2026-01-31", "1970-01-01"],
        ["2026-02-30", "20260131", "2026-W01-1", "2026-1-31", 2026, ""],
    ),
    (Texts(), [[], ["a", "a"]], ["a", [1], {}, None]),
    (Words(("a", "b")), [[], ["a"], ["b", "a"]], [["c"], ["A"], "a", [None]]),
    (Octets((2,)), [[], ["0011"], ["0x0011"], ["ABcd"]], [["00"], ["0x"], ["001"], ["00 11"], ["zzzz"], "0011", [17]]),
    (Octets((1, 3)), [["00"], ["001122"]], [["0011"]]),
    (Octets(), [[""], ["00"], ["0011"]], [["0"], ["x"]]),
    (Named({"a": Flag()}), [{}, {"a": True}], [{"b": True}, {"a": 1}, [], None]),
]


@pytest.mark.parametrize(("kind", "good", "bad"), KINDS, ids=lambda each: type(each).__name__)
def test_a_kind_reads_what_its_schema_says_and_nothing_else(
    kind: ValueKind, good: list[object], bad: list[object]
) -> None:
    schema = Draft202012Validator(kind.schema(), format_checker=Draft202012Validator.FORMAT_CHECKER)
    for value in good:
        assert kind.read(kind.as_json(kind.read(value, "x")), "x") == kind.read(value, "x")
        assert schema.is_valid(value), value
    for value in bad:
        with pytest.raises(MalformedError, match=r"^x: .*expected"):
            kind.read(value, "x")
        assert not schema.is_valid(value) or isinstance(kind, Text), value


def test_a_day_is_its_first_moment_in_utc() -> None:
    assert Day().read("2026-01-31", "x") == datetime(2026, 1, 31, tzinfo=UTC)


ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


@EVERY
@given(value=ANY_JSON)
def test_any_value_of_any_key_is_read_as_its_schema_says_or_a_typed_error(name: str, value: object) -> None:
    form = FORMS[name]
    for key in (PRESET, *form.keys):
        refused = None
        try:
            form.effective({key: value})
        except MalformedError as error:
            refused = error
        if refused is None:
            assert Draft202012Validator(form.schema(name)).is_valid({key: value})
        else:
            assert refused.what.startswith(f"policy: {key}")


@EVERY
@pytest.mark.parametrize("data", [b"", b"[]", b"{", b"1", b'{"require": [], "require": []}', b" " * (LARGEST + 1)])
def test_what_is_no_object_is_a_typed_error(name: str, data: bytes) -> None:
    with pytest.raises(MalformedError):
        FORMS[name].parse(data)
