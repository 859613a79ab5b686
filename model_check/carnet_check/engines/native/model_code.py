"""A model as C, and how many words the code has for a state."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from carnet_check.engines.native.alike import lines_of
from carnet_check.engines.native.lowering import WORD, Lowering
from carnet_spec.language import Row

PARTS = 4  #: The number of parts that own states.
#: Batch sizes and initial table sizes of compiled code: see runtime.c.
BATCH, MISSES, ROOM, VALUES = 512, 256, 1 << 12, 1 << 7
MOST_STATES = (1 << 32) - 1  #: The most states of a part: their numbers have 32 bits.
NUMBERS = 1  #: The fewest bits of an entry of the hash table that are the state's number; those above are of its hash.
#: Why compiled code returns from walks: as in runtime.c.
GO_ON, SIGHTED, ASK, LEFT, OVER = range(5)


class TooNarrowError(Exception):
    """Rows have too few bits for the values of words, or states have too few words."""

    def __init__(self, more: int) -> None:
        super().__init__()
        self.more = more  #: by how many words a row has to be longer.


@dataclass(frozen=True)
class ModelCode:
    """A model as C, with its measures."""

    text: str  #: the C text.
    fields: Sequence[tuple[str, Row]]  #: the places that have bits, in the order in which they got them.
    words: int  #: the number of words of a state.
    width: int  #: the number of words of a row, the compressed form in which a state is stored.
    steps: Sequence[tuple[str, Row]]  #: the action and the arguments of each ground step.
    sought: int  #: the number of monitors and rules of deduction.
    quick: bool  #: whether to compile in a third of the time, for code that is slower by a quarter.

    @staticmethod
    def of(model: Lowering, width: int, dominance: int, quick: bool) -> ModelCode:
        """Return the code of a model with rows of ``width`` words; ``dominance`` masks the spent budget, 0 for none."""
        spent, each = dominance.bit_length(), -(-model.words // width)
        bits = WORD if each == 1 else (WORD - spent) // each
        constants = {
            "WORDS": model.words,
            "SPENT": f"{dominance}ul",
            "WIDTH": width,
            "BITS": bits,
            "PLACE(w)": f"((w) / {each} * 64 + (w) % {each} * {bits} + ({bits} < 64 && (w) < {each} ? {spent} : 0))",
            "STEPS": len(model.ground.steps),
            "MONITORS": len(model.sought),
            "ALIKE": int(model.canonical is not None),
            **{
                "MOST_STATES": f"{MOST_STATES}ul",
                "NUMBERS": f"{NUMBERS}ul",
                "PARTS": PARTS,
                "BATCH": BATCH,
                "MISSES": MISSES,
                "ROOM": ROOM,
                "VALUES": VALUES,
            },
        }
        runtime = files("carnet_check.engines.native").joinpath("runtime.c").read_text("utf-8")
        lines = [
            "#define _GNU_SOURCE",
            "#include <stdint.h>",
            "typedef uint64_t u64;",
            "typedef uint32_t u32;",
            *(f"#define {name} {value}" for name, value in constants.items()),
            runtime.replace('#include "model.h"', "\n".join(model.lines())).replace(
                '#include "alike.h"', "\n".join(() if model.canonical is None else lines_of(model.canonical))
            ),
        ]
        return ModelCode(
            text="\n".join(lines),
            fields=model.layout.fields,
            words=model.words,
            width=width,
            steps=[
                (step.action.name, tuple(step.env[var.name] for var in step.action.params))
                for step in model.ground.steps
            ],
            sought=len(model.sought),
            quick=quick,
        )

    @staticmethod
    def read(kept: Mapping[str, Any]) -> ModelCode:
        """Return the code from its JSON values; raise ValueError, TypeError or LookupError if they are of no code."""
        rows = {key: [(str(name), tuple(map(str, row))) for name, row in kept[key]] for key in ("fields", "steps")}
        return ModelCode(**{**kept, **rows})


def first_width(words: int) -> int:
    """Return the first number of words of a row: few words of a state take many values, so a quarter is enough."""
    return -(-words // 4)
