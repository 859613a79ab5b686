"""CodedPrivateML: blocks of data and random ones on a polynomial, of which each worker computes with a value."""
