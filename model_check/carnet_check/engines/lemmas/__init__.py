"""The engines for lemma claims, which are statements about finite cases instead of steps."""
