"""The engines of lemma claims, which are about no step: each checks the cases of one means."""
