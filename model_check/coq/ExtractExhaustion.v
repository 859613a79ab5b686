(** The check of exhausted instances as an OCaml program.

    [nat], [positive] and [N] become machine integers, and what is done with each state becomes what machines do. The
    readers of [program/] take no number of 2^30 or more and give bits to the first 60 places of a word only; a run adds
    to numbers no more than the binders and lists that fit into memory, and makes no word with other bits. So nothing
    comes near 2^62. *)
From Coq Require Import List PArith NArith PeanoNat Extraction ExtrOcamlBasic ExtrOcamlNatInt ExtrOcamlZInt.
From Carnet Require Import Logic Checker Protocol Obligations Bits Instances Demands Moves Shelf Exhaustion.

Extraction Language OCaml.
Extract Constant N.testbit => "(fun word j -> (word lsr j) land 1 = 1)".
Extract Constant N.setbit => "(fun word j -> word lor (1 lsl j))".
Extract Constant N.land => "(land)".
Extract Constant N.ldiff => "(fun x y -> x land (lnot y))".
Extract Constant N.eqb => "(fun (x : int) y -> x = y)".
Extract Constant Pos.eqb => "(fun (x : int) y -> x = y)".
Extract Constant PeanoNat.Nat.eqb => "(fun (x : int) y -> x = y)".
Extract Constant PeanoNat.Nat.ltb => "(fun (x : int) y -> x < y)".
Extract Inlined Constant fst => "fst".
Extract Inlined Constant snd => "snd".
Extract Constant List.nth =>
  "(let rec nth n xs other = match xs with [] -> other | x :: more -> if n = 0 then x else nth (n - 1) more other in nth)".
Extraction "program/exhaustion/kernel.ml"
  exhausted_by moves to_follow net_of visit eval accepts.
