(** Two containers that are made by nobody trusted: a set of states, and the steps by what they ask of a state first. *)
From Coq Require Import List Bool PArith NArith PeanoNat.
Import ListNotations.
From Carnet Require Import Bits.

(** ** A set of states, in places that some function of them says *)

Inductive digit := D0 | D1 | D2 | D3 | D4 | D5 | D6 | D7.
Inductive shelf :=
| Shelf (states : list bits)
| Fork (s0 s1 s2 s3 s4 s5 s6 s7 : shelf).

Fixpoint same_bits (s t : bits) : bool :=
  match s, t with
  | [], [] => true
  | x :: s', y :: t' => N.eqb x y && same_bits s' t'
  | _, _ => false
  end.

Fixpoint stored (s : bits) (at_place : list digit) (h : shelf) {struct h} : bool :=
  match h, at_place with
  | Shelf ss, _ => existsb (same_bits s) ss
  | Fork h0 h1 h2 h3 h4 h5 h6 h7, d :: ds =>
      match d with
      | D0 => stored s ds h0 | D1 => stored s ds h1 | D2 => stored s ds h2 | D3 => stored s ds h3
      | D4 => stored s ds h4 | D5 => stored s ds h5 | D6 => stored s ds h6 | D7 => stored s ds h7
      end
  | Fork _ _ _ _ _ _ _ _, [] => false
  end.
Fixpoint every_state (f : bits -> bool) (h : shelf) {struct h} : bool :=
  match h with
  | Shelf ss => forallb f ss
  | Fork h0 h1 h2 h3 h4 h5 h6 h7 =>
      every_state f h0 && every_state f h1 && every_state f h2 && every_state f h3
      && every_state f h4 && every_state f h5 && every_state f h6 && every_state f h7
  end.

Lemma same_bits_is : forall s t, same_bits s t = true -> s = t.
Proof.
  induction s as [|x s IH]; intros [|y t] E; simpl in E; try discriminate; trivial.
  apply andb_true_iff in E. destruct E as [e E]. apply N.eqb_eq in e. f_equal; auto.
Qed.
Lemma stored_passes : forall f s h ds, stored s ds h = true -> every_state f h = true -> f s = true.
Proof.
  intros f s. induction h as [ss|h0 IH0 h1 IH1 h2 IH2 h3 IH3 h4 IH4 h5 IH5 h6 IH6 h7 IH7];
    intros ds H E; simpl in *.
  - rewrite forallb_forall in E. apply existsb_exists in H. destruct H as (t & i & e).
    apply same_bits_is in e. subst t. auto.
  - rewrite !andb_true_iff in E. destruct E as [[[[[[[E0 E1] E2] E3] E4] E5] E6] E7].
    destruct ds as [|[] ds]; try discriminate; eauto 2.
Qed.

(** ** Steps by the bits that they need *)

Definition literal_on := (place * bool)%type.
Definition holds_in (s : bits) (l : literal_on) : bool := eqb (bit s (fst l)) (snd l).
Definition same_literal (l k : literal_on) : bool := same_place (fst l) (fst k) && eqb (snd l) (snd k).

(** A formula as literals that must hold, and what is left of it. *)
Fixpoint literals_of (g : bit_formula) : list literal_on * bit_formula :=
  match g with
  | Is k b => ([(k, b)], Plain true)
  | Both g h =>
      let (ls, rest) := literals_of g in
      let (ls', rest') := literals_of h in
      (ls ++ ls', both rest rest')
  | _ => ([], g)
  end.
Lemma literals_of_is : forall s g,
  eval s g = forallb (holds_in s) (fst (literals_of g)) && eval s (snd (literals_of g)).
Proof.
  intros s. induction g as [b|k b|g IHg h IHh|g _ h _]; trivial.
  - simpl. unfold holds_in. simpl. rewrite !andb_true_r. reflexivity.
  - simpl. rewrite IHg, IHh. destruct (literals_of g) as [ls rest]. destruct (literals_of h) as [ls' rest'].
    simpl. rewrite forallb_app, both_is.
    destruct (forallb (holds_in s) ls), (forallb (holds_in s) ls'), (eval s rest), (eval s rest'); reflexivity.
Qed.

Section Net.
Variable A : Type.

Inductive net :=
| Stop
| One (a : A) (more : net)
| Where (l : literal_on) (inner more : net).

(** Whether [f] holds of all whose literals hold. *)
Fixpoint visit (s : bits) (f : A -> bool) (n : net) : bool :=
  match n with
  | Stop => true
  | One a more => if f a then visit s f more else false
  | Where l inner more =>
      if (if holds_in s l then visit s f inner else true) then visit s f more else false
  end.

Fixpoint chain (ls : list literal_on) (a : A) (more : net) : net :=
  match ls with [] => One a more | l :: ls' => Where l (chain ls' a Stop) more end.

Variable pick : list (list literal_on * A) -> option literal_on.    (** any guess *)

Definition has (l : literal_on) (item : list literal_on * A) : bool := existsb (same_literal l) (fst item).
Definition without (l : literal_on) (item : list literal_on * A) : list literal_on * A :=
  (filter (fun k => negb (same_literal l k)) (fst item), snd item).
Fixpoint net_of (depth : nat) (items : list (list literal_on * A)) : net :=
  let plain := fold_right (fun item more => chain (fst item) (snd item) more) Stop items in
  match depth with
  | O => plain
  | S depth' =>
      match pick items with
      | None => plain
      | Some l =>
          Where l (net_of depth' (map (without l) (filter (has l) items)))
            (net_of depth' (filter (fun item => negb (has l item)) items))
      end
  end.

Lemma visit_chain : forall s f ls a more, visit s f (chain ls a more) = true ->
  visit s f more = true /\ (forallb (holds_in s) ls = true -> f a = true).
Proof.
  intros s f. induction ls as [|l ls IH]; intros a more V; simpl in V.
  - destruct (f a) eqn:e; [|discriminate V]. auto.
  - destruct (holds_in s l) eqn:H; simpl.
    + destruct (visit s f (chain ls a Stop)) eqn:e; [|discriminate V]. split; trivial. rewrite H.
      apply (IH a Stop e).
    + rewrite H. split; trivial. discriminate.
Qed.

Lemma visit_plain : forall s f items,
  visit s f (fold_right (fun item more => chain (fst item) (snd item) more) Stop items) = true ->
  forall ls a, In (ls, a) items -> forallb (holds_in s) ls = true -> f a = true.
Proof.
  intros s f. induction items as [|[ls a] items IH]; intros V ls' a' i H; [destruct i|]. simpl in *.
  apply visit_chain in V. destruct V as [V W]. destruct i as [i|i]; [injection i as -> ->; auto|eauto].
Qed.

Lemma same_literal_is : forall l k, same_literal l k = true -> l = k.
Proof.
  intros [k b] [k' b'] E. unfold same_literal in E. simpl in E. apply andb_true_iff in E. destruct E as [e f].
  apply eqb_prop in f. apply same_place_is in e. congruence.
Qed.

Theorem visit_all : forall s f depth items, visit s f (net_of depth items) = true ->
  forall ls a, In (ls, a) items -> forallb (holds_in s) ls = true -> f a = true.
Proof.
  intros s f. induction depth as [|depth IH]; intros items V ls a i H; simpl in V.
  - eapply visit_plain; eauto.
  - destruct (pick items) as [l|]; [|eapply visit_plain; eauto].
    simpl in V. destruct (has l (ls, a)) eqn:h.
    + assert (holds_in s l = true) as Hl.
      { apply existsb_exists in h. destruct h as (k & j & e). apply same_literal_is in e. subst k.
        rewrite forallb_forall in H. apply H, j. }
      rewrite Hl in V.
      destruct (visit s f (net_of depth (map (without l) (filter (has l) items)))) eqn:e; [|discriminate V].
      apply (IH _ e (fst (without l (ls, a))) a).
      * apply in_map_iff. exists (ls, a). split; trivial. apply filter_In. auto.
      * rewrite forallb_forall in H |- *. intros k j. apply filter_In in j. apply H, j.
    + destruct (if holds_in s l then _ else true); [|discriminate V].
      apply (IH _ V ls a); trivial. apply filter_In. rewrite h. auto.
Qed.
End Net.
Arguments Stop {A}.
Arguments One {A}.
Arguments Where {A}.
Arguments visit {A}.
Arguments net_of {A}.
