#!/bin/sh
# Tool:  cbor-x 1.6.9 (npm), 2026-11-29.
# Guess: a whole number that JavaScript holds exactly is written as an integer of CBOR, in the shortest way.
# Seen:  from 2^32 on, and below -2^32, it becomes a floating-point number of 64 bits, as does 1.5, which fits 16. An object with one
#        name has a length of two bytes before it. RFC 8949, section 4.1, prefers neither; a reader that asks for an integer, as for
#        the attributes of a quote or a time in milliseconds, finds none.
# So:    what is signed or compared byte by byte is written by another library, or such numbers as BigInt.
set -eu
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
npm install -q cbor-x@1.6.9 --no-audit --no-fund >downloads 2>&1
cat >write.mjs <<'JAVASCRIPT'
import assert from "node:assert";
import { encode } from "cbor-x";

const hex = (value) => Buffer.from(encode(value)).toString("hex");
assert.equal(hex(2 ** 32 - 1), "1affffffff");
assert.equal(hex(2 ** 32), "fb41f0000000000000");
assert(hex(1764403200000).startsWith("fb"));
assert.equal(hex(-(2 ** 32)), "3affffffff");
assert(hex(-(2 ** 32) - 1).startsWith("fb"));
assert.equal(hex(2n ** 32n), "1b0000000100000000");
assert.equal(hex(1.5), "fb3ff8000000000000");
assert.equal(hex({ a: 1 }), "b90001616101");
JAVASCRIPT
node write.mjs
echo "holds: cbor-x-large-integers-become-floats"
