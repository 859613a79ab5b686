"""The machine's part of a search in threads: what follows states is written down beforehand, and entered in order.

What is written down reads what is known and changes none of it, so any number of threads may do it at once, while
others' successors are entered.
"""

from __future__ import annotations

from carnet_check.engines.native.answers import answer_all
from carnet_check.engines.native.compiling import compiled, nth
from carnet_check.engines.native.kernel import (
    DONE,
    MISSING,
    NARROW,
    NO_ROOM,
    add_all,
    count_visits,
    hash_all,
    note_used,
    successors,
)
from carnet_check.engines.native.rows import unpack
from carnet_check.engines.native.tables import (
    BLOCK,
    EXPANDED,
    FILL,
    USED,
    Alike,
    Kept,
    Marks,
    Missing,
    Number,
    Numbers,
    Slots,
    Tables,
    Work,
)

AT_ONCE = 1 << 9
"""How many successors are looked for at once: memory can be asked for them together."""


@compiled
def follow(
    end: Number,
    kept: Kept,
    level: Number,
    idle: Marks,
    tables: Tables,
    alike: Alike,
    work: Work,
    used: Slots,
    missing: Missing,
    counters: Numbers,
) -> Number:
    """Write what follows states up to ``end`` into the buffer, up to the first that lacks something; say what.

    Nothing is changed but what is there for this work alone, if there is no room for missing answers and new codes.
    The answers that this took are written one after another.
    """
    fill: Number = 0
    why = DONE
    while why == DONE and counters[EXPANDED] < end:
        begin = at = counters[EXPANDED]
        count = min(BLOCK, end - begin)
        unpack(begin, count, kept, work.block, BLOCK)
        known = answer_all(tables.moving, count, tables, work, missing, counters)
        why = DONE if known == count else MISSING
        while at < begin + known:
            if not (idle.shape[0] and idle[nth(at - level)]):
                after = successors(at, at - begin, kept, tables, alike, work, fill, missing, counters)
                if after < 0:
                    why = NARROW if after == NO_ROOM else MISSING
                    break
                fill = after
                counters[USED] = note_used(at - begin, work, used, counters[USED])
            at += 1
        counters[EXPANDED] = at
    hash_all(work, fill, kept)
    counters[FILL] = fill
    return why


@compiled
def enter_followers(kept: Kept, tables: Tables, work: Work, used: Slots, counters: Numbers) -> None:
    """Add what follows some states, as it was written into a buffer, and count what they were expanded by."""
    fill = counters[FILL]
    for begin in range(0, fill, AT_ONCE):
        add_all(work, begin, min(begin + AT_ONCE, fill), kept, counters)
    count_visits(counters[USED], tables, used)
