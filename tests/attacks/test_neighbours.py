"""Neighbours of an honest holder in a run have its exact update, and read its text from it; noised updates stop them.

That they read it is expected, and stays: the design does not protect the model from holders.
"""

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import pytest

from carnet_ref.crypto.primitives import sha384
from carnet_ref.systems.gpu_travelling.deployment import Deployment, holder_names
from carnet_ref.training import TrainingResult, sample_text
from carnet_ref.training.characters import CharacterModel
from carnet_ref.training.private import UpdateNoise
from tests.benchmarks.neighbours_pages import places_told, recorded
from tests.fixtures.gradient_inversion import Neighbours
from tests.fixtures.worlds import TestWorld, world_of

SMALL = CharacterModel(steps=1, batch=6)


@dataclass(frozen=True)
class Listening:
    """Trains, and keeps what lay in model memory as each round's training began: what its holder could read there."""

    name: ClassVar[str] = "numpy"

    inner: CharacterModel
    models: list[bytes] = field(default_factory=list)

    @property
    def hidden(self) -> int:
        return self.inner.hidden

    def first_model(self) -> bytes:
        return self.inner.first_model()

    def train(self, model: bytes, data: bytes) -> TrainingResult:
        self.models.append(model)
        return self.inner.train(model, data)


def run(noise: UpdateNoise | None = None) -> tuple[TestWorld, Deployment, list[bytes]]:
    trainer = Listening(SMALL)
    deployment = Deployment(holder_names(3), 3, trainer=trainer, noise=noise)
    world, _ = world_of(deployment)
    world.run()
    assert world.failure == ""
    return world, deployment, trainer.models


def windows(deployment: Deployment) -> list[tuple[int, ...]]:
    """Return what the second holder's round trains on."""
    from carnet_ref.training.characters import batches

    text = b"".join(deployment.dataset(deployment.holders[1]))
    drawn = next(batches(text, SMALL.context, 1, SMALL.batch, [SMALL.seed, 1]))
    return [tuple(map(int, row)) for row in drawn]


def test_the_holders_before_and_after_read_what_an_honest_one_trained_on() -> None:
    world, deployment, read = run()
    own = b"".join(deployment.dataset("alice"))
    known = Neighbours(SMALL, SMALL.train(read[0], own).model, read[2])
    honest = world.orchestrator.job.books.ledger[1]
    assert (sha384(known.before).hex(), sha384(known.after).hex()) == (honest.parent, honest.model)
    assert sorted(known.windows()) == sorted(windows(deployment))
    assert places_told(known.activity(), windows(deployment)) > 0.99
    assert known.confirms(b"".join(deployment.dataset("anna")))
    assert not known.confirms(sample_text("agnes", 6144))


def test_noised_updates_of_the_same_run_tell_neighbours_nothing_of_use() -> None:
    _, deployment, read = run(UpdateNoise(1.0, 2.0))
    known = Neighbours(SMALL, read[1], read[2])
    assert known.windows() == []
    assert places_told(known.activity(), windows(deployment)) == pytest.approx(0.5, abs=0.12)
    assert not known.confirms(b"".join(deployment.dataset("anna")))


def test_clipping_without_noise_still_says_which_characters_stood_where() -> None:
    _, deployment, read = run(UpdateNoise(0.1, 1e-30))
    known = Neighbours(SMALL, read[1], read[2])
    assert places_told(known.activity(), windows(deployment)) > 0.99


def test_a_gradient_is_read_from_the_optimiser_to_single_precision() -> None:
    before = SMALL.train(SMALL.first_model(), sample_text("alice", 512)).model
    known = Neighbours(SMALL, before, SMALL.train(before, sample_text("anna", 512)).model)
    first, first_bias, second, second_bias = known.batch_gradient()
    assert [each.shape for each in (first, first_bias, second, second_bias)] == [(192, 32), (32,), (32, 32), (32,)]
    per_place = first.reshape(6, 32, 32).sum(axis=1)
    assert np.abs(per_place - first_bias).max() < 1e-6, "each window has one character at each place"
    assert second_bias.sum() == pytest.approx(0, abs=1e-6)


def test_the_record_has_the_fall_and_the_defence() -> None:
    bare, clipped, *noised = recorded()
    assert (bare["windows read"], bare["places told"], bare["two texts told apart"]) == ("8 of 8", "1.00", "100.0%")
    assert clipped["places told"] == "1.00"
    assert [row["windows read"] for row in noised] == ["0 of 8"] * len(noised)
    told = [float(row["two texts told apart"].rstrip("%")) for row in noised]
    assert told == sorted(told, reverse=True)
    assert float(noised[-1]["loss"]) > 10 > float(bare["loss"])
