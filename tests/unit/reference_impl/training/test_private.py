"""A private round gives away a clipped and noised update and nothing else, and its accountant promises no more."""

import math
from collections.abc import Callable

import numpy as np
import pytest

from carnet_ref.crypto.primitives import sha384
from carnet_ref.privacy import GaussianAccountant, PrivacyParameterError
from carnet_ref.systems.gpu_travelling.deployment import Deployment, holder_names
from carnet_ref.training import sample_text
from carnet_ref.training.characters import ALPHABET, MOST_UPDATES, VOCABULARY, CharacterModel
from carnet_ref.training.private import PrivateTrainer, UpdateNoise, gaussian, weights_of
from carnet_ref.wire import MalformedError, join
from tests.fixtures.worlds import ChainTrainer, world_of

INNER = CharacterModel(hidden=4, steps=2, batch=4)
TEXTS = [sample_text(name, 256) for name in ("anna", "agnes")]
QUIET = UpdateNoise(0.25, 1e-30)


def private(noise: UpdateNoise, key: bytes = b"a key") -> PrivateTrainer:
    return PrivateTrainer(INNER, noise, key)


def update(trainer: PrivateTrainer, data: bytes) -> np.ndarray:
    first = trainer.first_model()
    return weights_of(trainer.train(first, data).model) - weights_of(first)


def test_an_update_is_clipped_and_keeps_its_direction() -> None:
    whole = weights_of(INNER.train(INNER.first_model(), TEXTS[0]).model) - weights_of(INNER.first_model())
    found = update(private(QUIET), TEXTS[0])
    assert np.linalg.norm(whole) > 0.5
    assert np.linalg.norm(found) == pytest.approx(0.25, rel=1e-5)
    assert found @ whole == pytest.approx(np.linalg.norm(whole) * 0.25, rel=1e-5)
    assert update(private(UpdateNoise(100.0, 1e-30)), TEXTS[0]) == pytest.approx(whole, abs=1e-6)


def test_no_state_of_the_optimiser_leaves_and_none_comes_in() -> None:
    trainer = private(UpdateNoise(0.25, 0.1))
    model = trainer.train(trainer.first_model(), TEXTS[0]).model
    _, arrays = INNER.unpack(model)
    assert all(np.any(each) for each in arrays[:4])
    assert not any(np.any(each) for each in arrays[4:])
    _, planted = INNER.unpack(INNER.train(model, TEXTS[1]).model)
    assert all(np.any(each) for each in planted[4:]), "without the wrapper there would be some"
    stateful = INNER.train(model, TEXTS[1]).model
    emptied = stateful[: 8 + 4 * len(weights_of(stateful))] + bytes(8 * len(weights_of(stateful)))
    again = private(QUIET)
    assert (
        weights_of(again.train(stateful, TEXTS[0]).model).tolist()
        == weights_of(again.train(emptied, TEXTS[0]).model).tolist()
    )
    assert len(model) == len(trainer.first_model())


def test_the_noise_is_that_which_is_counted() -> None:
    noise = UpdateNoise(0.25, 0.5)
    added = update(private(noise), TEXTS[0]) - update(private(QUIET), TEXTS[0])
    assert added.std() == pytest.approx(0.5, rel=0.1)
    assert (noise.release.sensitivity, noise.release.deviation) == (0.5, 0.5)
    drawn = gaussian(b"secret", 200_001)
    assert len(drawn) == 200_001
    assert (drawn.mean(), drawn.std()) == (pytest.approx(0, abs=0.01), pytest.approx(1, abs=0.01))
    for limit, share in ((1.0, 0.6827), (2.0, 0.9545), (3.0, 0.9973)):
        assert (np.abs(drawn) < limit).mean() == pytest.approx(share, abs=0.004)


def test_a_round_that_is_repeated_is_the_same_release_and_any_other_has_noise_of_its_own() -> None:
    noise, first = UpdateNoise(0.25, 0.5), INNER.first_model()
    assert private(noise).train(first, TEXTS[0]) == private(noise).train(first, TEXTS[0])
    quiet = [update(private(QUIET), text) for text in TEXTS]
    later = private(noise).train(first, TEXTS[0]).model
    noises = [
        *(update(private(noise), text) - bare for text, bare in zip(TEXTS, quiet, strict=True)),
        update(private(noise, b"another key"), TEXTS[0]) - quiet[0],
        weights_of(private(noise).train(later, TEXTS[0]).model)
        - weights_of(private(QUIET).train(later, TEXTS[0]).model),
    ]
    alike = np.corrcoef(noises) - np.eye(len(noises))
    assert np.abs(alike).max() < 0.15


def test_the_best_test_between_two_texts_does_as_well_as_the_accountant_allows_and_no_better() -> None:
    noise, first = UpdateNoise(0.25, 0.3), weights_of(INNER.first_model())
    one, other = (update(private(QUIET), text) for text in TEXTS)
    apart, middle = one - other, (one + other) / 2
    right = 0
    for key in range(400):
        trainer = private(noise, key.to_bytes(2))
        seen = weights_of(trainer.train(INNER.first_model(), TEXTS[key % 2]).model) - first
        right += ((seen - middle) @ apart > 0) == (key % 2 == 0)
    expected = 0.5 * (1 + math.erf(float(np.linalg.norm(apart)) / noise.deviation / 2 / math.sqrt(2)))
    allowed = (1 + GaussianAccountant().after(noise.release).delta(0.0)) / 2
    assert 0.6 < expected < allowed
    assert right / 400 == pytest.approx(expected, abs=0.06)


def planted(kind: str) -> bytes:
    """Return a model whose update overflows if the text has a certain letter, always, or that is no number itself."""
    updates, arrays = INNER.unpack(INNER.first_model())
    weights = [np.zeros_like(each) for each in arrays]
    weights[1][:] = 20
    letter = b"z" if kind == "on z" else b" "
    for place in range(INNER.context):
        weights[0][place * VOCABULARY + ALPHABET.index(letter)] = -20
    weights[2][:] = 1e25 * np.arange(weights[2].shape[1], dtype=np.float32)
    if kind == "no number":
        weights[0][:] = np.nan
    return updates.to_bytes(8, "little") + b"".join(each.tobytes() for each in weights)


@pytest.mark.parametrize("kind", ["on z", "always", "no number"])
def test_no_data_stops_a_round_and_an_update_that_is_no_number_is_noise_alone(kind: str) -> None:
    model, trainer = (
        planted(kind),
        PrivateTrainer(CharacterModel(hidden=4, steps=2, batch=32), UpdateNoise(1.0, 5.0), b"k"),
    )
    plain, telling = b"the patient reported a fever. " * 20, b"the patient reported a fever z. " * 20
    with np.errstate(all="ignore"):
        finite = [np.isfinite(weights_of(trainer.trainer.train(model, text).model)).all() for text in (plain, telling)]
    assert finite == [kind == "on z", False]
    for text in (plain, telling):
        before, after = weights_of(model), weights_of(trainer.train(model, text).model)
        assert (np.isfinite(after) == np.isfinite(before)).all()
        known = np.isfinite(before) & (np.abs(before) < 1e3)
        secret = join(trainer.key, repr(trainer.noise).encode(), model, text)
        alone = gaussian(secret, len(before)) * trainer.noise.deviation
        added = (after - before - alone)[known]
        assert np.linalg.norm(added) <= 1.001
        if text is telling:
            assert np.abs(added).max() < 1e-5


def test_a_run_goes_on_whatever_model_it_began_with(monkeypatch: pytest.MonkeyPatch) -> None:
    inner = CharacterModel()
    updates, arrays = inner.unpack(inner.first_model())
    weights = [np.full_like(each, 3e38) for each in arrays]
    model = updates.to_bytes(8, "little") + b"".join(each.tobytes() for each in weights)
    monkeypatch.setattr(CharacterModel, "first_model", lambda _: model)
    world, _ = world_of(Deployment(holder_names(2), 2, noise=UpdateNoise(1.0, 1000.0)))
    world.run()
    assert world.failure == ""


def test_two_sizes_of_noise_do_not_cancel() -> None:
    """Noise of σ and of 2σ on one update: twice the first less the second is the update only if both are one draw."""
    first = weights_of(INNER.first_model())
    quiet = update(private(QUIET), TEXTS[0])
    for other in (UpdateNoise(0.25, 4.0), UpdateNoise(0.5, 2.0)):
        one, two = update(private(UpdateNoise(0.25, 2.0)), TEXTS[0]), update(private(other), TEXTS[0])
        scale = other.deviation / 2.0
        left = (scale * one - two) - (scale * quiet - quiet * (other.bound / 0.25))
        assert np.linalg.norm(left) > np.sqrt(len(first))


@pytest.mark.parametrize("updates", [MOST_UPDATES + 1, 2**64 - 1])
def test_a_model_of_more_updates_than_can_be_is_refused(updates: int) -> None:
    head = updates.to_bytes(8, "little")
    for text in TEXTS:
        with pytest.raises(MalformedError, match=f"at most {MOST_UPDATES:,} updates"):
            private(QUIET).train(head + INNER.first_model()[8:], text)
    most = MOST_UPDATES.to_bytes(8, "little") + INNER.first_model()[8:]
    assert int.from_bytes(private(QUIET).train(most, TEXTS[0]).model[:8], "little") == MOST_UPDATES + INNER.steps


BAD: dict[str, Callable[[], object]] = {
    "no bound": lambda: UpdateNoise(0.0, 1.0),
    "no noise": lambda: UpdateNoise(1.0, 0.0),
    "a bound that is not a number": lambda: UpdateNoise(math.nan, 1.0),
    "a bound beyond single precision": lambda: UpdateNoise(1e9, 1.0),
    "noise beyond single precision": lambda: UpdateNoise(1.0, 1e9),
}


@pytest.mark.parametrize("case", BAD)
def test_noise_that_cannot_be_counted_is_refused(case: str) -> None:
    with pytest.raises(PrivacyParameterError):
        BAD[case]()


def test_a_model_of_another_shape_is_refused() -> None:
    for model in (b"", INNER.first_model()[:-1], INNER.first_model() + bytes(12)):
        with pytest.raises(MalformedError):
            private(QUIET).train(model, TEXTS[0])
    with pytest.raises(MalformedError):
        PrivateTrainer(ChainTrainer(), QUIET, b"").train(sha384(b""), TEXTS[0])


def test_processes_make_the_same_deployment_and_the_noise_s_key_is_its_own() -> None:
    deployment = Deployment(holder_names(2), 1, noise=UpdateNoise(0.25, 0.5))
    again = Deployment.of(deployment.settings)
    assert again == deployment
    trainers = [
        each.gpu_trainer for each in (deployment, again, Deployment(holder_names(2), 1, noise=QUIET, seed=b"2"))
    ]
    assert all(isinstance(each, PrivateTrainer) for each in trainers)
    keys = [each.key for each in trainers if isinstance(each, PrivateTrainer)]
    assert keys[0] == keys[1] != keys[2]
    assert Deployment(holder_names(2), 1).gpu_trainer == CharacterModel()
