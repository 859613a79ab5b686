"""CodedPrivateML: data blocks and random blocks define a polynomial; each worker computes with one of its values."""
