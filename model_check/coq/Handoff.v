(** The protocol of the tutorial (docs/tutorial.md, after the repair), as data, and its certificates.

    The last theorems: [secrecy] and both lemmas hold in every reachable state. [Tutorial.v] says it in plain words. *)
From Coq Require Import List Bool PArith.
Import ListNotations.
From Carnet Require Import Logic Checker Protocol Obligations Induction.

(** ** Names *)

Definition sort_Holder : sort := 1%positive.
Definition sort_Key : sort := 2%positive.

Definition sym_away : symbol := 1%positive.
Definition sym_corrupt : symbol := 2%positive.
Definition sym_finished : symbol := 3%positive.
Definition sym_learned : symbol := 4%positive.
Definition sym_lent : symbol := 5%positive.
Definition sym_link : symbol := 6%positive.
Definition sym_resident : symbol := 7%positive.
Definition sym_returned : symbol := 8%positive.
Definition sym_used_key : symbol := 9%positive.

Definition symbols : list declaration :=
  [Build_declaration sym_away [] None true;
   Build_declaration sym_corrupt [sort_Holder] None false;
   Build_declaration sym_finished [sort_Holder; sort_Key] None true;
   Build_declaration sym_learned [sort_Holder; sort_Holder] None true;
   Build_declaration sym_lent [sort_Holder; sort_Key] None true;
   Build_declaration sym_link [] (Some sort_Key) true;
   Build_declaration sym_resident [sort_Holder] None true;
   Build_declaration sym_returned [sort_Key] None true;
   Build_declaration sym_used_key [sort_Key] None true].

Definition link : term := Apply sym_link [].

(** ** What is assumed: somebody and some key exist *)

Definition inhabited_Holder : formula := Exists sort_Holder (Const true).
Definition inhabited_Key : formula := Exists sort_Key (Const true).

(** ** What is claimed *)

(** For [x] and [y], which are [Bound 1] and [Bound 0]. *)
Definition claim_secrecy : formula :=
  Forall sort_Holder (Forall sort_Holder
    (Implies (And (Holds sym_learned [Bound 1; Bound 0]) (Not (Holds sym_corrupt [Bound 0])))
      (Equal (Bound 1) (Bound 0)))).

(** For [x], [y] and [k], which are [Bound 2], [Bound 1] and [Bound 0]. *)
Definition lemma_a_key_has_one_holder : formula :=
  Forall sort_Holder (Forall sort_Holder (Forall sort_Key
    (And (Implies (Or (Holds sym_lent [Bound 2; Bound 0]) (Holds sym_returned [Bound 0]))
           (Holds sym_used_key [Bound 0]))
    (And (Implies (And (Holds sym_lent [Bound 2; Bound 0]) (Holds sym_lent [Bound 1; Bound 0]))
           (Equal (Bound 2) (Bound 1)))
         (Implies (And (Holds sym_lent [Bound 2; Bound 0]) (Holds sym_returned [Bound 0]))
           (Holds sym_finished [Bound 2; Bound 0])))))).

(** For [x], which is [Bound 0]. *)
Definition lemma_at_home_it_is_empty : formula :=
  Forall sort_Holder
    (And (Implies (Not (Holds sym_away []))
           (And (Not (Holds sym_resident [Bound 0]))
                (Implies (Holds sym_lent [Bound 0; link]) (Holds sym_returned [link]))))
         (Implies (Holds sym_resident [Bound 0]) (Holds sym_lent [Bound 0; link]))).

Definition claims : list formula := [claim_secrecy; lemma_a_key_has_one_holder; lemma_at_home_it_is_empty].

(** ** Steps *)

Definition always_so : formula := Const true.       (** an update without [when] *)

(** Parameters: [to] and [key]. The key was never used before. *)
Definition action_lend : action := {|
  parameters := [sort_Holder; sort_Key];
  drawn := [1];
  guards := [Not (Holds sym_away []); Not (Holds sym_used_key [Bound 1])];
  updates := [Build_update sym_used_key [Some (Bound 1)] always_so Insert;
              Build_update sym_link [] always_so (Assign (Bound 1));
              Build_update sym_lent [Some (Bound 0); Some (Bound 1)] always_so Insert;
              Build_update sym_away [] always_so Insert] |}.

(** Parameters: [me] and [key]. *)
Definition action_load : action := {|
  parameters := [sort_Holder; sort_Key];
  drawn := [];
  guards := [And (Holds sym_lent [Bound 0; Bound 1]) (Not (Holds sym_finished [Bound 0; Bound 1]));
             Equal link (Bound 1)];
  updates := [Build_update sym_resident [Some (Bound 0)] always_so Insert] |}.

(** Parameters: [me] and [key]. *)
Definition action_give_back : action := {|
  parameters := [sort_Holder; sort_Key];
  drawn := [];
  guards := [Holds sym_lent [Bound 0; Bound 1]];
  updates := [Build_update sym_finished [Some (Bound 0); Some (Bound 1)] always_so Insert;
              Build_update sym_returned [Some (Bound 1)] always_so Insert] |}.

(** Whatever is on the GPU goes. *)
Definition action_take_back : action := {|
  parameters := [];
  drawn := [];
  guards := [And (Holds sym_away []) (Holds sym_returned [link])];
  updates := [Build_update sym_resident [None] always_so Remove;
              Build_update sym_away [] always_so Remove] |}.

(** Parameters: [me], [other] and [key]. *)
Definition action_read : action := {|
  parameters := [sort_Holder; sort_Holder; sort_Key];
  drawn := [];
  guards := [And (Holds sym_corrupt [Bound 0]) (And (Holds sym_lent [Bound 0; Bound 2]) (Equal link (Bound 2)));
             Holds sym_resident [Bound 1]];
  updates := [Build_update sym_learned [Some (Bound 0); Some (Bound 1)] always_so Insert] |}.

Definition handoff : protocol := {|
  declarations := symbols;
  enumerations := [];
  axioms := [inhabited_Holder; inhabited_Key];
  initially := [];
  actions := [action_lend; action_load; action_give_back; action_take_back; action_read] |}.

(** Any holder may be corrupt: the threat model assumes nothing. *)
Definition threat_theft : list formula := [].

(** ** Certificates, one for each obligation *)

Definition init_secrecy : refutation := Use 2 (Witness 0 (Witness 0 (Close [2] []))).
Definition init_a_key_has_one_holder : refutation := Use 2 (Witness 0 (Witness 0 (Witness 0 (Split 0 (Split 1 (Close
  [0] []) (Close [0] [])) (Split 0 (Close [1] []) (Close [1] [])))))).
Definition init_at_home_it_is_empty : refutation := Use 2 (Witness 0 (Split 0 (Split 0 (Close [0] []) (Close [1] []))
  (Close [1] []))).
Definition lend_a_key_has_one_holder : refutation := Use 3 (Use 6 (Use 7 (Witness 0 (Witness 0 (Witness 0 (Instance 5
  [Eigen 2; Eigen 0; Eigen 4] (Instance 8 [Eigen 3; Eigen 2; Eigen 4] (Split 0 (Split 0 (Split 3 (Split 0 (Split 6
  (Split 9 (Split 0 (Split 12 (Split 0 (Split 15 (Split 18 (Split 0 (Split 3 (Split 0 (Close [0; 7] []) (Close [1; 5]
  [])) (Close [0; 7] [])) (Close [0] [])) (Split 0 (Split 1 (Close [0; 13] []) (Split 6 (Close [0; 11] []) (Close [8;
  2; 6] [(1, false); (2, false)]))) (Close [1; 6] []))) (Split 1 (Close [0; 3] []) (Close [0; 8] []))) (Close [1; 3]
  [])) (Close [2; 3] [])) (Split 14 (Close [1; 3] []) (Split 1 (Split 18 (Close [1; 4] []) (Split 0 (Split 1 (Close
  [0; 13] []) (Close [10; 31; 1] [(2, false)])) (Close [1; 9] []))) (Close [0; 4] [])))) (Close [1; 3] [])) (Split 1
  (Close [0; 3] []) (Split 13 (Close [0; 2] []) (Split 16 (Close [1; 3] []) (Split 1 (Close [0; 7] []) (Split 0 (Split
  2 (Split 0 (Split 8 (Split 6 (Split 1 (Close [0; 15] []) (Close [10; 35; 1] [(2, false)])) (Split 2 (Split 4 (Split
  0 (Close [1; 3] []) (Split 2 (Split 31 (Split 0 (Close [0; 2] []) (Close [0; 10] [])) (Close [0; 9] [])) (Close [3;
  8] []))) (Close [3; 19; 0] [(2, false)])) (Close [3; 8] []))) (Close [1; 2] [])) (Close [5; 30; 1] [(2, false)]))
  (Split 9 (Close [0; 3] []) (Split 23 (Split 0 (Split 26 (Split 0 (Split 7 (Split 13 (Split 1 (Close [0; 22] [])
  (Close [17; 42; 1] [(2, false)])) (Split 2 (Close [0; 6] []) (Close [2; 8] []))) (Split 0 (Split 15 (Split 1 (Close
  [0; 24] []) (Close [1; 7] [])) (Split 2 (Close [0; 8] []) (Close [1; 8] []))) (Close [0] []))) (Close [1; 3] []))
  (Close [2; 3] [])) (Close [0; 3] [])) (Close [2; 4] [])))) (Close [2; 7] []))))))) (Close [1; 3] [])) (Close [2; 3]
  [])) (Split 5 (Close [1; 3] []) (Split 1 (Split 9 (Split 13 (Close [1; 5] []) (Split 0 (Split 1 (Split 3 (Split 6
  (Close [2; 3] []) (Split 0 (Split 2 (Split 0 (Split 12 (Close [0; 1] []) (Split 22 (Split 0 (Close [0; 10] [])
  (Close [0; 4] [])) (Close [12; 0] [(1, false)]))) (Close [3; 8] [])) (Close [2; 6] [])) (Close [2; 14] []))) (Close
  [12; 27; 1] [(2, false)])) (Close [3; 10] [])) (Close [1; 10] []))) (Close [1; 6] [])) (Close [0; 4] [])))) (Split 5
  (Close [0; 3] []) (Split 1 (Split 11 (Close [0; 6] []) (Split 14 (Close [1; 3] []) (Split 1 (Close [0; 11] [])
  (Split 0 (Split 2 (Split 0 (Split 8 (Split 6 (Split 1 (Split 3 (Split 22 (Split 0 (Close [0; 3] []) (Close [0; 3]
  [])) (Close [5; 0] [(1, false)])) (Close [3; 8] [])) (Close [3; 17] [])) (Split 2 (Split 4 (Split 0 (Close [1; 3]
  []) (Close [1; 19] [])) (Close [4; 21; 0] [(2, false)])) (Close [3; 8] []))) (Close [1; 2] [])) (Close [5; 28; 1]
  [(2, false)])) (Split 9 (Close [0; 3] []) (Split 19 (Split 0 (Close [0; 14] []) (Split 24 (Split 0 (Split 27 (Split
  0 (Split 10 (Split 16 (Split 2 (Close [0; 5] []) (Close [2; 7] [])) (Split 2 (Close [0; 6] []) (Close [2; 8] [])))
  (Split 0 (Split 18 (Split 2 (Close [0; 7] []) (Close [1; 7] [])) (Split 2 (Close [0; 8] []) (Close [1; 8] [])))
  (Close [0] []))) (Close [1; 3] [])) (Close [2; 3] [])) (Close [1; 3] [])) (Close [2; 3] []))) (Close [1; 4] []))))
  (Close [2; 7] []))))) (Close [1; 6] []))))))))))).
Definition lend_at_home_it_is_empty : refutation := Use 4 (Use 5 (Use 7 (Witness 0 (Instance 3 [Eigen 2] (Split 1
  (Close [0; 5] []) (Split 5 (Close [1] []) (Close [1; 4] []))))))).
Definition load_at_home_it_is_empty : refutation := Use 3 (Use 4 (Use 5 (Use 6 (Use 7 (Witness 0 (Instance 5 [Eigen 2]
  (Instance 8 [Eigen 0; Eigen 0; Eigen 1] (Split 0 (Split 0 (Close [0; 11] []) (Split 5 (Close [1; 3] []) (Split 1
  (Split 7 (Split 0 (Close [0; 2] []) (Close [0; 1] [])) (Split 12 (Split 14 (Split 16 (Close [1; 2] []) (Split 1
  (Close [0; 5] []) (Close [3; 9; 1; 24] [(2, false); (3, false)]))) (Split 0 (Split 19 (Split 0 (Split 0 (Close [0;
  6] []) (Close [6; 12; 1; 27] [(2, false); (3, false)])) (Close [1; 6] [])) (Split 1 (Close [0; 6] []) (Close [3; 12;
  1; 27] [(2, false); (3, false)]))) (Close [0; 12; 22] [(2, false)]))) (Split 15 (Split 17 (Close [1; 2] []) (Close
  [0; 4] [])) (Close [1; 4] [])))) (Close [0; 4] [])))) (Close [0; 11] []))))))))).
Definition give_back_a_key_has_one_holder : refutation := Use 3 (Use 5 (Use 6 (Witness 0 (Witness 0 (Witness 0
  (Instance 5 [Eigen 0; Eigen 2; Eigen 1] (Instance 8 [Eigen 2; Eigen 3; Eigen 4] (Split 5 (Close [1; 12] []) (Split 1
  (Split 3 (Split 0 (Split 6 (Split 0 (Split 9 (Split 12 (Split 0 (Close [0; 8] []) (Split 16 (Split 0 (Close [0; 3]
  []) (Split 21 (Split 1 (Close [0; 10] []) (Split 0 (Close [0; 11] []) (Close [5; 20; 1] [(2, false)]))) (Split 0
  (Close [2; 12] []) (Close [3; 14] [])))) (Split 21 (Split 1 (Close [0; 10] []) (Split 0 (Close [0; 11] []) (Close
  [4; 8; 1] [(2, false)]))) (Split 0 (Close [2; 12] []) (Close [3; 14] []))))) (Split 16 (Split 0 (Close [0; 4] [])
  (Split 21 (Split 1 (Close [0; 10] []) (Split 0 (Close [0; 11] []) (Close [2; 11; 1] [(2, false)]))) (Split 0 (Close
  [2; 12] []) (Close [3; 14] [])))) (Split 21 (Split 1 (Close [0; 10] []) (Split 0 (Close [0; 11] []) (Close [2; 11;
  1] [(2, false)]))) (Split 0 (Close [2; 12] []) (Close [3; 14] []))))) (Split 1 (Close [0; 3] []) (Split 17 (Close
  [0; 4] []) (Split 0 (Close [2; 6] []) (Close [3; 8] []))))) (Close [1; 3] [])) (Close [2; 3] [])) (Split 8 (Close
  [1; 3] []) (Split 1 (Split 15 (Close [0; 3] []) (Split 1 (Close [2; 5] []) (Split 1 (Split 3 (Split 18 (Split 0
  (Close [0; 4] []) (Close [0; 4] [])) (Close [0; 3] [])) (Split 2 (Close [0; 14] []) (Split 25 (Split 0 (Close [0;
  21] []) (Split 6 (Split 30 (Split 0 (Close [0; 4] []) (Close [0; 13; 8] [(2, false)])) (Close [3; 0] [(1, false)]))
  (Split 0 (Close [0; 7] []) (Close [0] [])))) (Close [1; 5; 4] [(2, false)])))) (Close [1; 6] [])))) (Close [0; 4]
  [])))) (Split 8 (Close [0; 3] []) (Split 1 (Split 15 (Close [0; 3] []) (Split 0 (Split 4 (Close [2; 5] []) (Split 1
  (Split 18 (Split 0 (Close [0; 2] []) (Close [0; 7] [])) (Close [0; 6] [])) (Close [1; 6] []))) (Close [1; 10] [])))
  (Close [1; 6] [])))) (Close [1; 14] [])))))))))).
Definition give_back_at_home_it_is_empty : refutation := Use 4 (Use 6 (Witness 0 (Instance 2 [Eigen 2] (Split 0 (Split
  3 (Split 0 (Close [0; 3] []) (Split 0 (Split 9 (Close [0; 7] []) (Split 0 (Close [0; 7] []) (Close [0; 7] [])))
  (Close [0] []))) (Close [1; 3] [])) (Split 3 (Split 5 (Close [1; 2] []) (Close [0; 4] [])) (Close [1; 4] [])))))).
Definition take_back_at_home_it_is_empty : refutation := Use 5 (Use 6 (Witness 0 (Split 0 (Split 0 (Close [0] [])
  (Close [0; 7] [])) (Close [1] [])))).
Definition read_secrecy : refutation := Use 2 (Use 3 (Use 4 (Use 5 (Use 6 (Use 7 (Witness 0 (Witness 0 (Instance 9
  [Eigen 1] (Instance 12 [Eigen 0; Eigen 1; Eigen 2] (Instance 16 [Eigen 3; Eigen 4] (Split 0 (Split 0 (Split 5 (Close
  [1; 17] []) (Split 1 (Split 9 (Close [0; 17] []) (Split 12 (Split 16 (Close [0; 7] []) (Split 14 (Split 0 (Close [0;
  9] []) (Close [0; 8; 27] [(2, false)])) (Close [22; 29; 0; 4] [(2, false); (3, false)]))) (Close [1; 4] []))) (Close
  [1; 19] []))) (Close [0; 10] [])) (Close [0; 9] [])))))))))))).
Definition certificates : list refutation :=
  [init_secrecy; init_a_key_has_one_holder; init_at_home_it_is_empty;
   lend_a_key_has_one_holder; lend_at_home_it_is_empty; load_at_home_it_is_empty; give_back_a_key_has_one_holder;
   give_back_at_home_it_is_empty; take_back_at_home_it_is_empty; read_secrecy].

Theorem certificates_accepted : certified handoff [] [] claims certificates = true.
Proof. vm_compute. reflexivity. Qed.

(** ** Theorems *)

Theorem secrecy : always handoff threat_theft claim_secrecy.
Proof. exact (certified_in_general handoff claims certificates certificates_accepted threat_theft 0 _ eq_refl). Qed.

Theorem a_key_has_one_holder : always handoff threat_theft lemma_a_key_has_one_holder.
Proof. exact (certified_in_general handoff claims certificates certificates_accepted threat_theft 1 _ eq_refl). Qed.

Theorem at_home_it_is_empty : always handoff threat_theft lemma_at_home_it_is_empty.
Proof. exact (certified_in_general handoff claims certificates certificates_accepted threat_theft 2 _ eq_refl). Qed.
