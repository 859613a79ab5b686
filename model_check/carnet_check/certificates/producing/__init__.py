"""The search for certificates. No verdict depends on it: a certificate is kept only if the kernel accepts it."""
