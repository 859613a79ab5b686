(** States as bits, formulas over bits, and what bits say of a state.

    What is known of a state may be less than everything: of a fact that rules insert, its bit says no more than that it
    may hold, and of some facts nothing is known. So a formula over bits stands for a proposition in one of two ways: it
    is true wherever the proposition is, or it is true only where the proposition is. *)
From Coq Require Import List Bool PArith NArith PeanoNat.
Import ListNotations.

(** A place of a bit: the number of a word, and of a bit in it. *)
Definition place := (nat * N)%type.
Definition bits := list N.
Definition bit (s : bits) (k : place) : bool := N.testbit (nth (fst k) s 0%N) (snd k).

Definition same_place (k l : place) : bool := Nat.eqb (fst k) (fst l) && N.eqb (snd k) (snd l).

Lemma same_place_is : forall k l, same_place k l = true -> k = l.
Proof.
  intros [i j] [i' j'] E. unfold same_place in E. simpl in E. apply andb_true_iff in E. destruct E as [e f].
  apply Nat.eqb_eq in e. apply N.eqb_eq in f. congruence.
Qed.

Inductive bit_formula :=
| Plain (value : bool)
| Is (k : place) (value : bool)
| Both (left right : bit_formula)
| Either (left right : bit_formula).

Fixpoint eval (s : bits) (g : bit_formula) : bool :=
  match g with
  | Plain b => b
  | Is k b => eqb (bit s k) b
  | Both g h => eval s g && eval s h
  | Either g h => eval s g || eval s h
  end.

Definition both (g h : bit_formula) : bit_formula :=
  match g, h with
  | Plain true, x | x, Plain true => x
  | Plain false, _ | _, Plain false => Plain false
  | _, _ => Both g h
  end.
Definition either (g h : bit_formula) : bit_formula :=
  match g, h with
  | Plain false, x | x, Plain false => x
  | Plain true, _ | _, Plain true => Plain true
  | _, _ => Either g h
  end.
Fixpoint opposite (g : bit_formula) : bit_formula :=
  match g with
  | Plain b => Plain (negb b)
  | Is k b => Is k (negb b)
  | Both g h => Either (opposite g) (opposite h)
  | Either g h => Both (opposite g) (opposite h)
  end.

(** The right part is a function, so that it is worked out only where the left one leaves it open. *)
Definition and_also (g : bit_formula) (h : unit -> bit_formula) : bit_formula :=
  match g with Plain false => g | _ => both g (h tt) end.
Definition or_else (g : bit_formula) (h : unit -> bit_formula) : bit_formula :=
  match g with Plain true => g | _ => either g (h tt) end.
Fixpoint for_all {A} (f : A -> bit_formula) (xs : list A) : bit_formula :=
  match xs with [] => Plain true | x :: xs' => and_also (f x) (fun _ => for_all f xs') end.
Fixpoint for_some {A} (f : A -> bit_formula) (xs : list A) : bit_formula :=
  match xs with [] => Plain false | x :: xs' => or_else (f x) (fun _ => for_some f xs') end.

Lemma both_is : forall s g h, eval s (both g h) = eval s g && eval s h.
Proof.
  intros s g h. destruct g as [[]| | |]; destruct h as [[]| | |]; simpl;
    rewrite ?andb_true_r, ?andb_false_r; reflexivity.
Qed.
Lemma either_is : forall s g h, eval s (either g h) = eval s g || eval s h.
Proof.
  intros s g h. destruct g as [[]| | |]; destruct h as [[]| | |]; simpl;
    rewrite ?orb_true_r, ?orb_false_r; reflexivity.
Qed.
Lemma opposite_is : forall s g, eval s (opposite g) = negb (eval s g).
Proof.
  intros s. induction g as [b|k b|g IHg h IHh|g IHg h IHh]; simpl; trivial.
  - destruct (bit s k), b; reflexivity.
  - rewrite IHg, IHh, negb_andb. reflexivity.
  - rewrite IHg, IHh, negb_orb. reflexivity.
Qed.
Lemma and_also_is : forall s g h, eval s (and_also g h) = eval s g && eval s (h tt).
Proof. intros s g h. unfold and_also. destruct g as [[]| | |]; try apply both_is; reflexivity. Qed.
Lemma or_else_is : forall s g h, eval s (or_else g h) = eval s g || eval s (h tt).
Proof. intros s g h. unfold or_else. destruct g as [[]| | |]; try apply either_is; reflexivity. Qed.
Lemma for_all_is : forall A s (f : A -> bit_formula) xs, eval s (for_all f xs) = forallb (fun x => eval s (f x)) xs.
Proof. intros A s f. induction xs as [|x xs IH]; simpl; trivial. rewrite and_also_is, IH. reflexivity. Qed.
Lemma for_some_is : forall A s (f : A -> bit_formula) xs, eval s (for_some f xs) = existsb (fun x => eval s (f x)) xs.
Proof. intros A s f. induction xs as [|x xs IH]; simpl; trivial. rewrite or_else_is, IH. reflexivity. Qed.

(** ** What bits say of a state *)

(** What is known of a fact: it never holds, it always does, nothing, exactly what a bit says, or that it holds at most
    where a bit is set. *)
Inductive status := Never | Always | Open | Exactly (k : place) | AtMost (k : place).

Definition agrees (st : status) (s : bits) (fact : Prop) : Prop :=
  match st with
  | Never => ~ fact
  | Always => fact
  | Open => True
  | Exactly k => fact <-> bit s k = true
  | AtMost k => fact -> bit s k = true
  end.

(** [most]: where a fact may hold; otherwise: where it certainly does. *)
Definition literal (most : bool) (st : status) : bit_formula :=
  match st with
  | Never => Plain false
  | Always => Plain true
  | Open => Plain most
  | Exactly k => Is k true
  | AtMost k => if most then Is k true else Plain false
  end.

(** A formula over bits stands for a proposition: as what it is at most, or at least. *)
Definition stands (most : bool) (s : bits) (g : bit_formula) (fact : Prop) : Prop :=
  if most then fact -> eval s g = true else eval s g = true -> fact.

Lemma literal_stands : forall most st s fact, agrees st s fact -> stands most s (literal most st) fact.
Proof.
  intros [] [| | | |] s fact; simpl; intros A; try tauto; try discriminate.
  - intros F. rewrite (proj1 A F). reflexivity.
  - intros F. rewrite (A F). reflexivity.
  - intros E. apply A. destruct (bit s k); trivial.
Qed.

Lemma both_stands : forall most s g h A B,
  stands most s g A -> stands most s h B -> stands most s (both g h) (A /\ B).
Proof. intros [] s g h A B; simpl; rewrite both_is, andb_true_iff; tauto. Qed.
Lemma and_also_stands : forall most s g h A B,
  stands most s g A -> stands most s (h tt) B -> stands most s (and_also g h) (A /\ B).
Proof. intros [] s g h A B; simpl; rewrite and_also_is, andb_true_iff; tauto. Qed.
Lemma or_else_stands : forall most s g h A B,
  stands most s g A -> stands most s (h tt) B -> stands most s (or_else g h) (A \/ B).
Proof. intros [] s g h A B; simpl; rewrite or_else_is, orb_true_iff; tauto. Qed.
Lemma opposite_stands : forall most s g A, stands (negb most) s g A -> stands most s (opposite g) (~ A).
Proof.
  intros [] s g A; simpl; rewrite opposite_is; intros H.
  - intros no. destruct (eval s g); trivial. destruct (no (H eq_refl)).
  - intros E a. rewrite (H a) in E. discriminate.
Qed.
Lemma stands_for : forall most s g A B, (A <-> B) -> stands most s g A -> stands most s g B.
Proof. intros [] s g A B; simpl; tauto. Qed.
Lemma for_all_stands : forall X most s (g : X -> bit_formula) (A : X -> Prop) xs,
  (forall x, In x xs -> stands most s (g x) (A x)) -> stands most s (for_all g xs) (forall x, In x xs -> A x).
Proof.
  intros X [] s g A xs H; simpl in *; rewrite for_all_is, forallb_forall; auto.
Qed.
Lemma for_some_stands : forall X most s (g : X -> bit_formula) (A : X -> Prop) xs,
  (forall x, In x xs -> stands most s (g x) (A x)) -> stands most s (for_some g xs) (exists x, In x xs /\ A x).
Proof.
  intros X [] s g A xs H; simpl in *; rewrite for_some_is, existsb_exists.
  - intros (x & i & a). exists x. auto.
  - intros (x & i & e). exists x. auto.
Qed.

Lemma implies_stands : forall most s g h A B,
  stands (negb most) s g A -> stands most s (h tt) B -> stands most s (or_else (opposite g) h) (A -> B).
Proof.
  intros [] s g h A B G H; simpl in *; rewrite or_else_is, opposite_is.
  - intros F. destruct (eval s g); simpl; auto.
  - intros E a. rewrite (G a) in E. auto.
Qed.
Lemma unless_stands : forall most s g h A B,
  stands most s g A -> stands most s (h tt) B -> stands most s (or_else g h) (~ A -> B).
Proof.
  intros [] s g h A B G H; simpl in *; rewrite or_else_is.
  - intros F. destruct (eval s g); simpl; auto. apply H, F. intros a. discriminate (G a).
  - intros E n. apply orb_true_iff in E. tauto.
Qed.
