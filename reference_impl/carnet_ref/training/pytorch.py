"""A character model in PyTorch, with an embedding, one hidden layer, and Adam.

It needs the ``train`` extra. Model memory has parameters and optimiser state as one flat array each, so that a digest
depends on the numbers alone. It runs on one CPU thread: a repeated round must result in the same model.

Source: Bengio et al., A Neural Probabilistic Language Model (2003); Kingma and Ba, Adam (2015).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch

from carnet_ref.training import TrainingResult
from carnet_ref.training.characters import VOCABULARY, batches, updates_of
from carnet_ref.wire import MalformedError

_HEAD = 8
_COPIES = 3  #: The arrays in a model: parameters, and Adam's two running means of their gradients.


@dataclass(frozen=True, slots=True)
class TorchModel:
    """A trainer of character models; each round makes ``steps`` updates on batches of ``batch`` positions."""

    name: ClassVar[str] = "torch"

    context: int = 6
    width: int = 8
    hidden: int = 64
    steps: int = 24
    batch: int = 32
    rate: float = 0.02
    seed: int = 2025

    def first_model(self) -> bytes:
        """Return small random parameters and a fresh optimiser state."""
        parameters = torch.nn.utils.parameters_to_vector(self._network().parameters()).detach()
        return self._pack(0, [parameters, *(torch.zeros_like(parameters) for _ in range(_COPIES - 1))])

    def train(self, model: bytes, data: bytes) -> TrainingResult:
        """Return the model after ``steps`` more updates, and the mean loss over them.

        Raises MalformedError if ``model`` has the wrong length for this trainer, or too many updates.
        """
        torch.set_num_threads(1)
        network = self._network()
        updates, optimiser = self._load(network, model)
        losses: list[float] = []
        residue = b""
        for drawn in batches(data, self.context, self.steps, self.batch, [self.seed, updates]):
            window = torch.from_numpy(drawn)
            inputs, targets = window[:, :-1], window[:, -1]
            optimiser.zero_grad()
            loss = torch.nn.functional.cross_entropy(network(inputs), targets)
            loss.backward()
            optimiser.step()
            losses.append(loss.item())
            residue = inputs.numpy().astype(np.uint8).tobytes() + network[0].weight.grad.numpy().tobytes()
        return TrainingResult(
            self._saved(network, optimiser, updates + len(losses)), float(np.mean(losses or [0.0])), residue
        )

    def _network(self) -> Any:
        """Return the network with its initial parameters; the global random state is preserved."""
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.seed)
            return torch.nn.Sequential(
                torch.nn.Embedding(VOCABULARY, self.width),
                torch.nn.Flatten(),
                torch.nn.Linear(self.context * self.width, self.hidden),
                torch.nn.Tanh(),
                torch.nn.Linear(self.hidden, VOCABULARY),
            )

    def _load(self, network: Any, model: bytes) -> tuple[int, Any]:
        parameters = list(network.parameters())
        size = sum(each.numel() for each in parameters)
        if len(model) != _HEAD + 4 * _COPIES * size:
            raise MalformedError("PyTorch model", f"{_HEAD + 4 * _COPIES * size} bytes", f"{len(model)}")
        updates = updates_of(model)
        flat = torch.from_numpy(np.frombuffer(model, np.float32, offset=_HEAD).copy())
        values, means, squares = flat.split(size)
        torch.nn.utils.vector_to_parameters(values, parameters)
        optimiser = torch.optim.Adam(parameters, lr=self.rate, betas=(0.9, 0.99))
        counts = [each.numel() for each in parameters]
        for each, mean, square in zip(parameters, means.split(counts), squares.split(counts), strict=True):
            optimiser.state[each] = {
                "step": torch.tensor(float(updates)),
                "exp_avg": mean.view_as(each).clone(),
                "exp_avg_sq": square.view_as(each).clone(),
            }
        return updates, optimiser

    def _saved(self, network: Any, optimiser: Any, updates: int) -> bytes:
        parameters = list(network.parameters())
        states = [optimiser.state[each] for each in parameters]
        vectors = [torch.cat([each.detach().flatten() for each in parameters])]
        vectors += [torch.cat([state[name].flatten() for state in states]) for name in ("exp_avg", "exp_avg_sq")]
        return self._pack(updates, vectors)

    def _pack(self, updates: int, vectors: list[Any]) -> bytes:
        return updates.to_bytes(_HEAD, "little") + b"".join(each.numpy().tobytes() for each in vectors)
