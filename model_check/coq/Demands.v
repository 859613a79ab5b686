(** What is asked of the bits after a step, and masks, by which most of it is checked a word at a time. *)
From Coq Require Import List Bool PArith NArith PeanoNat.
Import ListNotations.
From Carnet Require Import Bits.

(** ** Conditions on the bits after a step *)

Inductive condition_on_bits :=
| Up (k : place) (g : bit_formula)        (** where [g] holds before, the bit is set after *)
| Down (k : place) (g : bit_formula)      (** where the bit is set after, [g] holds before *)
| Need (g : bit_formula).

Definition met (s s' : bits) (c : condition_on_bits) : bool :=
  match c with
  | Up k g => implb (eval s g) (bit s' k)
  | Down k g => implb (bit s' k) (eval s g)
  | Need g => eval s g
  end.

(** What is asked so that bits say the truth of a fact which holds at most where [most] does, and where [least] does. *)
Definition demand (st : status) (most least : bit_formula) : list condition_on_bits :=
  match st with
  | Never => match most with Plain false => [] | _ => [Need (opposite most)] end
  | Always => match least with Plain true => [] | _ => [Need least] end
  | Open => []
  | Exactly k => [Up k most; Down k least]
  | AtMost k => [Up k most]
  end.

Lemma demand_met : forall st s s' most least A,
  stands true s most A -> stands false s least A ->
  forallb (met s s') (demand st most least) = true -> agrees st s' A.
Proof.
  intros st s s' most least A H G C. simpl in H, G. destruct st as [| | |k|k]; simpl in C; simpl; trivial.
  - assert (E : eval s (opposite most) = true).
    { destruct most as [[]| | |]; trivial; simpl in *; rewrite ?andb_true_r in C; trivial. }
    rewrite opposite_is in E. intros a. rewrite (H a) in E. discriminate.
  - apply G. destruct least as [[]| | |]; trivial; simpl in *; rewrite ?andb_true_r in C; trivial.
  - apply andb_true_iff in C. destruct C as [u C]. apply andb_true_iff in C. destruct C as [d _].
    split; intros K.
    + rewrite (H K) in u. exact u.
    + rewrite K in d. apply G, d.
  - intros K. rewrite (H K) in C. simpl in C. rewrite andb_true_r in C. exact C.
Qed.

(** ** Masks: most conditions speak of one bit, and a word's are checked together *)

Record mask := { must_be_set : N; must_be_clear : N; may_only_rise : N; may_only_fall : N }.
Definition no_mask : mask := Build_mask 0 0 0 0.

Definition word_fits (m : mask) (before after : N) : bool :=
  N.eqb (N.ldiff (must_be_set m) after) 0
  && N.eqb (N.land (must_be_clear m) after) 0
  && N.eqb (N.ldiff (N.land (may_only_rise m) before) after) 0
  && N.eqb (N.ldiff (N.land (may_only_fall m) after) before) 0.
Definition first_word (s : bits) : N := match s with [] => 0%N | x :: _ => x end.
Definition other_words (s : bits) : bits := match s with [] => [] | _ :: s' => s' end.
Fixpoint words_fit (ms : list mask) (s s' : bits) : bool :=
  match ms with
  | [] => true
  | m :: ms' => word_fits m (first_word s) (first_word s') && words_fit ms' (other_words s) (other_words s')
  end.

Fixpoint at_word (i : nat) (f : mask -> mask) (ms : list mask) : list mask :=
  match i, ms with
  | O, [] => [f no_mask]
  | O, m :: ms' => f m :: ms'
  | S i', [] => no_mask :: at_word i' f []
  | S i', m :: ms' => m :: at_word i' f ms'
  end.

Definition set_too (j : N) (m : mask) : mask :=
  Build_mask (N.setbit (must_be_set m) j) (must_be_clear m) (may_only_rise m) (may_only_fall m).
Definition clear_too (j : N) (m : mask) : mask :=
  Build_mask (must_be_set m) (N.setbit (must_be_clear m) j) (may_only_rise m) (may_only_fall m).
Definition rise_too (j : N) (m : mask) : mask :=
  Build_mask (must_be_set m) (must_be_clear m) (N.setbit (may_only_rise m) j) (may_only_fall m).
Definition fall_too (j : N) (m : mask) : mask :=
  Build_mask (must_be_set m) (must_be_clear m) (may_only_rise m) (N.setbit (may_only_fall m) j).

Record demands := { masks : list mask; others : list condition_on_bits }.

Definition is_place (k : place) (g : bit_formula) : bool :=
  match g with Is l true => same_place k l | _ => false end.
Definition masked (f : N -> mask -> mask) (k : place) (d : demands) : demands :=
  Build_demands (at_word (fst k) (f (snd k)) (masks d)) (others d).
Definition demand_too (c : condition_on_bits) (d : demands) : demands :=
  match c with
  | Up k (Plain true) => masked set_too k d
  | Up k (Plain false) => d
  | Up k g => if is_place k g then masked rise_too k d else Build_demands (masks d) (c :: others d)
  | Down k (Plain true) => d
  | Down k (Plain false) => masked clear_too k d
  | Down k g => if is_place k g then masked fall_too k d else Build_demands (masks d) (c :: others d)
  | Need (Plain true) => d
  | _ => Build_demands (masks d) (c :: others d)
  end.
Definition all_demands (cs : list condition_on_bits) : demands := fold_right demand_too (Build_demands [] []) cs.
Definition fulfilled (d : demands) (s s' : bits) : bool :=
  words_fit (masks d) s s' && forallb (met s s') (others d).

Lemma no_bit : forall a j, N.eqb a 0 = true -> N.testbit a j = false.
Proof. intros a j E. apply N.eqb_eq in E. subst a. apply N.bits_0. Qed.

(** What one word's mask says of one bit. *)
Record bit_fits (m : mask) (j : N) (b b' : bool) : Prop := {
  is_set : N.testbit (must_be_set m) j = true -> b' = true;
  is_clear : N.testbit (must_be_clear m) j = true -> b' = false;
  rose : N.testbit (may_only_rise m) j = true -> b = true -> b' = true;
  fell : N.testbit (may_only_fall m) j = true -> b' = true -> b = true }.

Lemma word_fits_bits : forall m x y j,
  word_fits m x y = true -> bit_fits m j (N.testbit x j) (N.testbit y j).
Proof.
  intros m x y j H. unfold word_fits in H. rewrite !andb_true_iff in H. destruct H as [[[H1 H2] H3] H4].
  apply (no_bit _ j) in H1. apply (no_bit _ j) in H2. apply (no_bit _ j) in H3. apply (no_bit _ j) in H4.
  rewrite ?N.ldiff_spec, ?N.land_spec in *.
  split; intros E; rewrite ?E in *; simpl in *; destruct (N.testbit x j), (N.testbit y j); simpl in *; congruence.
Qed.

Lemma words_fit_bits : forall ms s s' i j m,
  words_fit ms s s' = true -> nth_error ms i = Some m -> bit_fits m j (bit s (i, j)) (bit s' (i, j)).
Proof.
  unfold bit. simpl. induction ms as [|m0 ms IH]; intros s s' i j m H E; simpl in H.
  - destruct i; discriminate.
  - apply andb_true_iff in H. destruct H as [Hw Hs]. destruct i as [|i]; simpl in E.
    + injection E as ->. apply (word_fits_bits _ _ _ j) in Hw. destruct s, s'; exact Hw.
    + apply (IH _ _ _ j _ Hs) in E. destruct s as [|a s], s' as [|b s']; simpl in *; trivial;
        destruct i; simpl in *; trivial.
Qed.

(** Masks are only ever narrowed. *)
Definition narrower (m n : mask) : Prop := forall b b' j, bit_fits n j b b' -> bit_fits m j b b'.
Definition all_narrower (ms ns : list mask) : Prop :=
  forall i m, nth_error ms i = Some m -> exists n, nth_error ns i = Some n /\ narrower m n.

Lemma at_word_there : forall f ms i,
  exists m, nth_error (at_word i f ms) i = Some (f m).
Proof.
  intros f ms i. revert ms. induction i as [|i IH]; intros [|m ms]; simpl; eauto.
Qed.
Lemma at_word_narrower : forall f, (forall m, narrower m (f m)) -> forall i ms, all_narrower ms (at_word i f ms).
Proof.
  intros f N. induction i as [|i IH]; intros [|m ms] [|j] n E; simpl in *; try discriminate.
  - injection E as ->. exists (f n). split; trivial.
  - exists n. split; trivial. intros b b' k B. exact B.
  - injection E as ->. exists n. split; trivial. intros b b' k B. exact B.
  - apply IH, E.
Qed.
Lemma set_stays : forall a j k, N.testbit a k = true -> N.testbit (N.setbit a j) k = true.
Proof. intros a j k E. rewrite N.setbit_eqb, E. apply orb_true_r. Qed.

Lemma narrowed : forall j m,
  narrower m (set_too j m) /\ narrower m (clear_too j m) /\ narrower m (rise_too j m) /\ narrower m (fall_too j m).
Proof.
  intros j m. repeat split; intros E; apply H; simpl; trivial; apply set_stays; trivial.
Qed.

Definition bits_fit (d : demands) (s s' : bits) : Prop :=
  (forall i j m, nth_error (masks d) i = Some m -> bit_fits m j (bit s (i, j)) (bit s' (i, j)))
  /\ forallb (met s s') (others d) = true.

Lemma masked_fits : forall f k d s s',
  (forall m, narrower m (f (snd k) m)) -> bits_fit (masked f k d) s s' ->
  bits_fit d s s' /\ exists m, bit_fits (f (snd k) m) (snd k) (bit s k) (bit s' k).
Proof.
  intros f [i j] d s s' N [B O]. simpl in *. split.
  - split; trivial. intros i' j' m E.
    destruct (at_word_narrower (f j) N i (masks d) i' m E) as (n & E' & T). apply T, B, E'.
  - destruct (at_word_there (f j) (masks d) i) as [m E]. exists m. apply B, E.
Qed.

Lemma is_place_is : forall k g s, is_place k g = true -> eval s g = bit s k.
Proof.
  intros k [b|l [|]|g h|g h] s E; simpl in *; try discriminate. apply same_place_is in E. subst l.
  destruct (bit s k); reflexivity.
Qed.

Lemma kept_apart : forall c d s s',
  bits_fit (Build_demands (masks d) (c :: others d)) s s' -> met s s' c = true /\ bits_fit d s s'.
Proof.
  intros c d s s' [B O]. simpl in O. apply andb_true_iff in O. destruct O. split; trivial. split; trivial.
Qed.

Lemma rise_met : forall k g d s s', is_place k g = true ->
  bits_fit (masked rise_too k d) s s' -> met s s' (Up k g) = true /\ bits_fit d s s'.
Proof.
  intros k g d s s' E F. destruct (masked_fits rise_too k d s s') as [G [m B]]; trivial.
  { intros n. apply (narrowed (snd k) n). }
  split; trivial. simpl. rewrite (is_place_is k g s E). destruct (bit s k) eqn:b; trivial.
  simpl. apply (rose _ _ _ _ B); trivial. apply N.setbit_eq.
Qed.
Lemma fall_met : forall k g d s s', is_place k g = true ->
  bits_fit (masked fall_too k d) s s' -> met s s' (Down k g) = true /\ bits_fit d s s'.
Proof.
  intros k g d s s' E F. destruct (masked_fits fall_too k d s s') as [G [m B]]; trivial.
  { intros n. apply (narrowed (snd k) n). }
  split; trivial. simpl. rewrite (is_place_is k g s E). destruct (bit s' k) eqn:b; trivial.
  simpl. apply (fell _ _ _ _ B); trivial. apply N.setbit_eq.
Qed.

Lemma demand_too_met : forall c d s s',
  bits_fit (demand_too c d) s s' -> met s s' c = true /\ bits_fit d s s'.
Proof.
  intros [k g|k g|g] d s s' F; unfold demand_too in F.
  - destruct g as [[]|l b|g h|g h].
    + destruct (masked_fits set_too k d s s') as [G [m B]]; trivial.
      { intros n. apply (narrowed (snd k) n). }
      split; trivial. simpl. apply (is_set _ _ _ _ B). apply N.setbit_eq.
    + auto.
    + destruct (is_place k (Is l b)) eqn:E; [apply rise_met|apply kept_apart]; trivial.
    + apply kept_apart, F.
    + apply kept_apart, F.
  - destruct g as [[]|l b|g h|g h].
    + split; trivial. simpl. apply implb_true_r.
    + destruct (masked_fits clear_too k d s s') as [G [m B]]; trivial.
      { intros n. apply (narrowed (snd k) n). }
      split; trivial. simpl. rewrite (is_clear _ _ _ _ B); trivial. apply N.setbit_eq.
    + destruct (is_place k (Is l b)) eqn:E; [apply fall_met|apply kept_apart]; trivial.
    + apply kept_apart, F.
    + apply kept_apart, F.
  - destruct g as [[]|l b|g h|g h]; try (apply kept_apart, F).
Qed.

Theorem fulfilled_met : forall cs s s',
  fulfilled (all_demands cs) s s' = true -> forallb (met s s') cs = true.
Proof.
  intros cs s s' H. unfold fulfilled in H. apply andb_true_iff in H. destruct H as [Hm Ho].
  assert (F : bits_fit (all_demands cs) s s').
  { split; trivial. intros i j m E. apply words_fit_bits with (masks (all_demands cs)); trivial. }
  clear Hm Ho. induction cs as [|c cs IH]; simpl in *; trivial.
  apply demand_too_met in F. destruct F as [C F]. rewrite C, IH; trivial.
Qed.
