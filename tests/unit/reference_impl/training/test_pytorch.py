"""The optional trainer learns, repeats itself, and says when it is not installed."""

import importlib.util
import json
import sys

import pytest
from click.testing import CliRunner

from carnet_check.cli import main
from carnet_ref.training import MOST_HIDDEN, TRAINERS, sample_text, trainer_named
from carnet_ref.training.characters import CharacterModel
from carnet_ref.wire import MalformedError

needs_torch = pytest.mark.skipif(
    importlib.util.find_spec("torch") is None,
    reason="PyTorch is not installed: it is large, so only the extra 'train' brings it",
)


def test_the_command_knows_every_trainer() -> None:
    from carnet_ref.systems.gpu_travelling.commands import run

    assert (run.TRAINERS, run.MOST_HIDDEN) == (TRAINERS, MOST_HIDDEN)
    assert trainer_named(TRAINERS[0]) == CharacterModel()
    with pytest.raises(LookupError):
        trainer_named("abacus")


def test_a_trainer_that_is_not_installed_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.delitem(sys.modules, "carnet_ref.training.pytorch", raising=False)
    ran = CliRunner().invoke(main, ["run", "--trainer", "torch", "--json"])
    assert ran.exit_code == 2
    assert "carnet[train]" in json.loads(ran.stdout)["error"]["message"]


@needs_torch
def test_the_loss_falls_from_holder_to_holder() -> None:
    trainer = trainer_named("torch")
    model, losses = trainer.first_model(), []
    for holder in ("alice", "anna", "anton") * 2:
        outcome = trainer.train(model, sample_text(holder, 2048))
        model = outcome.model
        losses.append(outcome.loss)
    assert losses[-1] < losses[0] * 0.8


@needs_torch
def test_training_repeats_itself_and_goes_on_where_it_was() -> None:
    trainer, text = trainer_named("torch"), sample_text("alice", 512)
    once = trainer.train(trainer.first_model(), text)
    assert once == trainer.train(trainer.first_model(), text)
    assert once.residue
    assert trainer.train(once.model, text) == trainer.train(once.model, text)
    assert trainer.train(once.model, text).model != once.model
    assert trainer.train(once.model, b"").model == once.model


@needs_torch
def test_a_model_of_another_size_is_refused() -> None:
    trainer = trainer_named("torch")
    with pytest.raises(MalformedError):
        trainer.train(trainer.first_model()[:-1], b"")


@needs_torch
def test_a_run_trains_with_it() -> None:
    ran = CliRunner().invoke(main, ["run", "--holders", "2", "--rounds", "4", "--trainer", "torch", "--json"])
    assert ran.exit_code == 0
    fields = json.loads(ran.stdout)
    assert fields["conforms"]
    assert fields["loss"][-1] < fields["loss"][0]
