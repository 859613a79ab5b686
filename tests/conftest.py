"""Settings that every test shares: Hypothesis draws the same examples on every machine."""

from hypothesis import settings

settings.register_profile("ci", derandomize=True, deadline=None, print_blob=True)
settings.register_profile("explore", parent=settings.get_profile("ci"), derandomize=False, max_examples=2_000)
settings.load_profile("ci")  # `pytest --hypothesis-profile=explore` draws new examples, and more of them
