"""Results of attestation services of others: NVIDIA, Google, Intel and Microsoft."""
