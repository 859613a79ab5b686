(** The generator of obligations and the checker as an OCaml program.

    [nat] and [positive] become machine integers. The reader of [program/reading.ml] takes no number of 2^30 or more, and
    a run adds to numbers no more than the binders and lists that fit into memory, so nothing comes near 2^62. *)
From Coq Require Import Extraction ExtrOcamlBasic ExtrOcamlNatInt ExtrOcamlZInt.
From Carnet Require Import Logic Checker Protocol Obligations.

Extraction Language OCaml.
Extraction "program/kernel.ml"
  well_stated obligations untouched accepts whole precondition initially_true drawn_apart.
