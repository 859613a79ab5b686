"""``carnet datapath --table keys``: the capacity of a session's keys before renewal, and attackers' advantages."""

from collections.abc import Iterator
from typing import Any

from carnet_command.text import hanging
from carnet_ref.crypto.bounds import log2, one_key_confidentiality, one_key_integrity, one_key_units
from carnet_ref.datapath import key_budget
from carnet_ref.datapath.quantities import Size
from carnet_ref.keys import LAST_CHANNEL, LAST_MESSAGE


def budget_json(dataset: str, buffer: str, holders: int, model: str, exponent: int) -> dict[str, Any]:
    """Return the fields of the command's JSON object.

    Raises QuantityError if a size cannot be read, is zero, or does not fit under one key; KeyMaterialError if the
    driver has no limit for that advantage.
    """
    demand = key_budget.KeyDemand(Size.parse(dataset), Size.parse(buffer), holders, Size.parse(model), exponent)
    designs = [
        _design(demand, schedule, target, key_budget.capacity(demand, schedule, target))
        for schedule in key_budget.Schedule
        for target in key_budget.Target
    ]
    return {
        "table": "keys",
        "demand": {"dataset": dataset, "buffer": buffer, "holders": holders, "model": model, "advantage": exponent},
        "rows": [*_one_key(demand), *designs],
        "hand_overs": demand.hand_overs,
        "room": {str(schedule): key_budget.room(demand, schedule) for schedule in key_budget.Schedule},
        "channel_counters": LAST_CHANNEL,
        "message_counters": LAST_MESSAGE,
    }


def _one_key(demand: key_budget.KeyDemand) -> list[dict[str, Any]]:
    driver, formula = demand.limits.upper, one_key_units(demand.exponent)
    return [
        _row("work units under one key", formula, "1", driver),
        _row("data under one key", demand.bytes_under_one_key, "B"),
        _row("data under all holders' keys", demand.holders * demand.bytes_under_one_key, "B"),
        _row("confidentiality, one key at the driver's limit", log2(one_key_confidentiality(driver, 0)), "log2"),
        _row("integrity, one key and one forged message", log2(one_key_integrity(1, 1 << 16)), "log2"),
        _row("records of a session's set-up, each way", key_budget.RECORDS, "1"),
        _row("both, the keys of those records", log2(key_budget.set_up_load().integrity), "log2"),
    ]


def _row(name: str, reproduced: float, unit: str, published: int | None = None) -> dict[str, Any]:
    error = None if published is None else (reproduced - published) / published
    return {
        "name": name,
        "published": published,
        "reproduced": reproduced,
        "relative_error": error,
        "unit": unit,
    }


def _design(
    demand: key_budget.KeyDemand,
    schedule: key_budget.Schedule,
    target: key_budget.Target,
    found: key_budget.Capacity | None,
) -> dict[str, Any]:
    hand_overs = 0 if found is None else found.hand_overs
    row = _row(f"a session of {schedule}, 2^-{demand.exponent} for {target}", hand_overs * demand.buffer.octets, "B")
    row |= {"schedule": str(schedule), "target": str(target), "hand_overs": hand_overs}
    if found is None:
        return row | dict.fromkeys(("sessions", "ended_by", "units_of_one_key", "session_log2", "job_log2"))
    return row | {
        "sessions": found.sessions,
        "ended_by": found.ended_by,
        "units_of_one_key": found.most,
        "session_log2": log2(found.session),
        "job_log2": log2(found.job),
    }


def lines(told: dict[str, Any]) -> Iterator[str]:
    """Yield the lines of text for the command's JSON object."""
    demand = told["demand"]
    parts = ", ".join(f"{name} {value}" for name, value in demand.items() if name != "advantage")
    yield from hanging(f"Key budget: {parts}, advantage 2^-{demand['advantage']}")
    yield ""
    yield f"{'':48}{'driver':>15}{'bound':>15}"
    for row in told["rows"]:
        if "schedule" not in row:
            published = "" if row["published"] is None else f"{row['published']:,}"
            yield f"{row['name']:48}{published:>15}{amount(row):>15}"
    yield ""
    for schedule, room_of in told["room"].items():
        yield from _design_lines(schedule, room_of, told)
    yield from hanging(
        f"Counters: {told['channel_counters']:,} channels of an engine, and {told['message_counters']:,} messages of a "
        "channel, run out later."
    )


def _design_lines(schedule: str, room_of: dict[str, int], told: dict[str, Any]) -> Iterator[str]:
    ends = "; ".join(f"{name}, {count:,}" for name, count in room_of.items())
    yield from hanging(f"{schedule}: {told['hand_overs']:,} hand-overs in all. Room in a session: {ends}")
    head = f"  2^-{told['demand']['advantage']} for"
    yield f"{head:30}{'hand-overs':>11}{'data':>10}{'sessions':>9}{'session':>9}{'job':>9}"
    for row in told["rows"]:
        if row.get("schedule") == schedule:
            yield f"  {row['target']:28}" + _figures(row)
    yield ""


def _figures(row: dict[str, Any]) -> str:
    if row["sessions"] is None:
        return f"{'not even one hand-over':>32}"
    bounds = [f"2^{row[key]:.1f}" for key in ("session_log2", "job_log2")]
    return f"{row['hand_overs']:>11,}{amount(row):>10}{row['sessions']:>9,}" + "".join(f"{one:>9}" for one in bounds)


def amount(row: dict[str, Any]) -> str:
    """Return the value of a row as text, in its unit."""
    match row["unit"]:
        case "B":
            return str(Size(row["reproduced"]))
        case "log2":
            return f"2^{row['reproduced']:.1f}"
        case _:
            return f"{row['reproduced']:,}"
