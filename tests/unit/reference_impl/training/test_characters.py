"""The small language model learns, repeats itself, and says what it leaves behind."""

from __future__ import annotations

import pytest

from carnet_ref.training import text_of
from carnet_ref.training.characters import CharacterModel
from carnet_ref.wire import MalformedError

TRAINER = CharacterModel(hidden=16, steps=12, batch=16)


def test_the_loss_falls_from_holder_to_holder() -> None:
    model, losses = TRAINER.first_model(), []
    for holder in ("alice", "anna", "anton") * 2:
        outcome = TRAINER.train(model, text_of(holder, 2048))
        model = outcome.model
        losses.append(outcome.loss)
    assert losses[-1] < losses[0] * 0.8


def test_training_repeats_itself() -> None:
    first = TRAINER.train(TRAINER.first_model(), text_of("alice", 512))
    again = TRAINER.train(TRAINER.first_model(), text_of("alice", 512))
    assert first == again
    assert first.residue


def test_data_changes_the_model_and_its_absence_does_not() -> None:
    model = TRAINER.first_model()
    assert TRAINER.train(model, text_of("alice", 512)).model != TRAINER.train(model, text_of("anna", 512)).model
    assert TRAINER.train(model, b"").model == model


def test_a_model_of_another_size_is_refused() -> None:
    with pytest.raises(MalformedError):
        TRAINER.train(TRAINER.first_model()[:-1], b"")


def test_holders_share_no_sentence() -> None:
    sentences = [set(text_of(holder, 4096).splitlines()[:-1]) for holder in ("alice", "anna")]
    assert not sentences[0] & sentences[1]
