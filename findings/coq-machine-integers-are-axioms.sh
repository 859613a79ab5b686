#!/bin/sh
# Tool:  Coq 8.16.1 (Debian's coq 8.16.1+dfsg-1+b2), 2026-11-29.
# Guess: 1 + 1 = 2 by reflexivity is closed under the global context, for machine integers as for natural numbers: the kernel
#        computes both.
# Seen:  `Print Assumptions` lists the type of machine integers as an axiom. The proof of the same sum by vm_compute has one more,
#        the addition of the kernel itself. No author assumed either.
# So:    what is to be shown to rest on no axiom computes with inductive numbers.
set -eu
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
apt-get -q download coq=8.16.1+dfsg-1+b2 >downloads
apt-get -q download libcoq-core-ocaml=8.16.1+dfsg-1+b2 >>downloads
apt-get -q download libcoq-stdlib=8.16.1+dfsg-1+b2 >>downloads
apt-get -q download libfindlib-ocaml=1.9.6-1+b1 >>downloads
apt-get -q download libzarith-ocaml=1.12-1+b1 >>downloads
for package in *.deb; do dpkg -x "$package" debian; done
cat >sums.v <<'EOF'
Require Import Uint63.
Lemma natural : 1 + 1 = 2. Proof. reflexivity. Qed.
Print Assumptions natural.
Lemma machine : (1 + 1 = 2)%uint63. Proof. reflexivity. Qed.
Print Assumptions machine.
Lemma computed : (1 + 1 = 2)%uint63. Proof. vm_compute. reflexivity. Qed.
Print Assumptions computed.
EOF
export OCAMLPATH="$scratch/debian/usr/lib/ocaml"
debian/usr/bin/coqc -coqlib "$OCAMLPATH/coq" sums.v >out
cat >expected <<'EOF'
Closed under the global context
Axioms:
int : Set
Axioms:
int : Set
add : int -> int -> int
EOF
diff expected out
echo "holds: coq-machine-integers-are-axioms"
