"""The small language model learns, repeats itself, and says what it leaves behind."""

import pytest

from carnet_ref.training import sample_text
from carnet_ref.training.characters import CharacterModel
from carnet_ref.wire import MalformedError

TRAINER = CharacterModel(hidden=16, steps=12, batch=16)


def test_the_loss_falls_from_holder_to_holder() -> None:
    model, losses = TRAINER.first_model(), []
    for holder in ("alice", "anna", "anton") * 2:
        outcome = TRAINER.train(model, sample_text(holder, 2048))
        model = outcome.model
        losses.append(outcome.loss)
    assert losses[-1] < losses[0] * 0.8


def test_training_repeats_itself_and_depends_on_the_data_alone() -> None:
    first = TRAINER.train(TRAINER.first_model(), sample_text("alice", 512))
    assert first == TRAINER.train(TRAINER.first_model(), sample_text("alice", 512))
    assert first.residue
    model = TRAINER.first_model()
    assert TRAINER.train(model, sample_text("alice", 512)).model != TRAINER.train(model, sample_text("anna", 512)).model
    assert TRAINER.train(model, b"").model == model
    with pytest.raises(MalformedError):
        TRAINER.train(TRAINER.first_model()[:-1], b"")
    sentences = [set(sample_text(holder, 4096).splitlines()[:-1]) for holder in ("alice", "anna")]
    assert not sentences[0] & sentences[1]
