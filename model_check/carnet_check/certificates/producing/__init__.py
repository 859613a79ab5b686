"""The search for certificates. Nothing rests on it: what it finds is kept only if the kernel accepts it."""
