"""Cryptographic primitives behind one interface each: AES-GCM, HKDF, ECDSA, HPKE."""
