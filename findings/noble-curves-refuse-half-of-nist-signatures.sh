#!/bin/sh
# Tool:  @noble/curves 2.4.0 (npm), 2026-11-29.
# Guess: verify() of P-256 and P-384 accepts every valid signature, as FIPS 186-5, section 6.4.2, has it.
# Seen:  it refuses those whose s is larger than half of the order, so about half of what other libraries and devices sign, unless
#        the option lowS is false. That rule is one of Bitcoin's, and of its curve.
# So:    a verifier of quotes and reports of hardware turns the option off.
set -eu
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
npm install -q @noble/curves@2.4.0 --no-audit --no-fund >downloads
cat >verify.mjs <<'JAVASCRIPT'
import { p256, p384 } from "@noble/curves/nist.js";
import { createSign, generateKeyPairSync } from "node:crypto";
import assert from "node:assert";

for (const [curve, name, hash] of [[p256, "P-256", "sha256"], [p384, "P-384", "sha384"]]) {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: name });
  const { x, y } = publicKey.export({ format: "jwk" });
  const point = Buffer.concat([Buffer.of(4), Buffer.from(x, "base64url"), Buffer.from(y, "base64url")]);
  let high = 0;
  for (let number = 0; number < 100; number++) {
    const message = Buffer.from(`report ${number}`);
    const sign = createSign(hash).update(message);
    const signature = sign.sign({ key: privateKey, dsaEncoding: "ieee-p1363" });
    const s = BigInt("0x" + signature.subarray(signature.length / 2).toString("hex"));
    const isHigh = s > curve.Point.Fn.ORDER / 2n;
    assert.equal(curve.verify(signature, message, point), !isHigh);
    assert(curve.verify(signature, message, point, { lowS: false }));
    high += isHigh;
  }
  assert(high > 20 && high < 80, `${high} of 100`);
}
JAVASCRIPT
node verify.mjs
echo "holds: noble-curves-refuse-half-of-nist-signatures"
