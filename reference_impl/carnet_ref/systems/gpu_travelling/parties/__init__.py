"""The parties of a run on simulated hardware: roles put together with sessions, evidence, texts and keys."""
