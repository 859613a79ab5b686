"""The search for certificates, which is untrusted: a certificate is stored only if the kernel accepts it."""
