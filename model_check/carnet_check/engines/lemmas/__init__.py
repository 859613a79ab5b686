"""The engines of lemma claims, which speak of no step: each goes through the cases of one means."""
