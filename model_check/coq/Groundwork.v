(** What the checker's functions on terms and formulas compute, and on what values and truth depend. *)
From Coq Require Import List Bool PeanoNat PArith.
Import ListNotations.
From Carnet Require Import Logic Checker.

(** ** Induction on terms *)

Lemma term_induction (P : term -> Prop)
  (on_bound : forall k, P (Bound k))
  (on_eigen : forall n, P (Eigen n))
  (on_member : forall m, P (Member m))
  (on_apply : forall f ts, List.Forall P ts -> P (Apply f ts)) :
  forall t, P t.
Proof.
  fix induction 1. intros [k | n | m | f ts].
  - apply on_bound.
  - apply on_eigen.
  - apply on_member.
  - apply on_apply. induction ts as [| t ts rest]; constructor; [apply induction | exact rest].
Qed.

(** ** Comparisons *)

Lemma both_true : forall a b : bool, (if a then b else false) = true <-> a = true /\ b = true.
Proof. intros [|] b; intuition congruence. Qed.

Lemma either_true : forall a b : bool, (if a then true else b) = true <-> a = true \/ b = true.
Proof. intros [|] b; intuition congruence. Qed.

Ltac take_apart :=
  repeat match goal with both : (if _ then _ else false) = true |- _ => apply both_true in both as [? ?] end.

Lemma all2_Forall2 : forall {A B} (f : A -> B -> bool) xs ys,
  all2 f xs ys = true -> Forall2 (fun x y => f x y = true) xs ys.
Proof.
  intros A B f. induction xs as [| x xs IH]; intros [| y ys] same; simpl in same; try discriminate.
  - constructor.
  - apply both_true in same as [first rest]. constructor; auto.
Qed.

Lemma all2_same : forall {A} (same : A -> A -> bool) xs,
  List.Forall (fun x => forall y, same x y = true -> x = y) xs -> forall ys, all2 same xs ys = true -> xs = ys.
Proof.
  intros A same xs each. induction each as [| x xs same_x _ IH]; intros [| y ys] all; simpl in all; try discriminate.
  - reflexivity.
  - apply both_true in all as [first rest]. f_equal; auto.
Qed.

Lemma Forall2_same_length : forall {A B} (P : A -> B -> Prop) xs ys, Forall2 P xs ys -> length xs = length ys.
Proof. intros A B P xs ys pairs. induction pairs; simpl; congruence. Qed.

Lemma Forall2_nth : forall {A B} (P : A -> B -> Prop) xs ys,
  Forall2 P xs ys -> forall n x default, nth_error xs n = Some x -> P x (nth n ys default).
Proof.
  intros A B P xs ys pairs. induction pairs as [| x' y' xs ys first _ IH]; intros [| n] x default found;
    simpl in *; try discriminate.
  - injection found as <-. exact first.
  - exact (IH n x default found).
Qed.

Lemma same_term_equal : forall a b, same_term a b = true -> a = b.
Proof.
  induction a as [j | j | m | f ss IH] using term_induction; intros [k | k | n | g ts] same;
    simpl in same; try discriminate.
  - apply Nat.eqb_eq in same. congruence.
  - apply Nat.eqb_eq in same. congruence.
  - apply Pos.eqb_eq in same. congruence.
  - apply both_true in same as [same_f same_ss]. apply Pos.eqb_eq in same_f. apply (all2_same _ _ IH) in same_ss.
    congruence.
Qed.

Lemma same_terms_equal : forall ss ts, all2 same_term ss ts = true -> ss = ts.
Proof. intros ss. apply all2_same, Forall_forall. intros t _. apply same_term_equal. Qed.

Lemma same_formula_equal : forall f g, same_formula f g = true -> f = g.
Proof.
  induction f; intros [] same; simpl in same; try discriminate;
    take_apart;
    repeat match goal with
    | values : eqb _ _ = true |- _ => apply eqb_prop in values
    | names : Pos.eqb _ _ = true |- _ => apply Pos.eqb_eq in names
    | terms : same_term _ _ = true |- _ => apply same_term_equal in terms
    | terms : all2 same_term _ _ = true |- _ => apply same_terms_equal in terms
    end;
    f_equal; auto.
Qed.

(** ** What mentions only the first eigenvariables *)

Inductive within (n : nat) : term -> Prop :=
| bound_within : forall k, within n (Bound k)
| eigen_within : forall k, k < n -> within n (Eigen k)
| member_within : forall m, within n (Member m)
| apply_within : forall f ts, List.Forall (within n) ts -> within n (Apply f ts).

Fixpoint formula_within (n : nat) (f : formula) : Prop :=
  match f with
  | Const _ => True
  | Holds _ ts => List.Forall (within n) ts
  | Equal a b => within n a /\ within n b
  | Not g | Forall _ g | Exists _ g => formula_within n g
  | And g h | Or g h | Implies g h => formula_within n g /\ formula_within n h
  | Choose c g h => formula_within n c /\ formula_within n g /\ formula_within n h
  end.

Lemma within_more : forall n m t, n <= m -> within n t -> within m t.
Proof.
  intros n m t more. induction t as [k | k | k | f ts IH] using term_induction; intros inside; inversion inside; subst.
  - constructor.
  - constructor. eapply Nat.lt_le_trans; eassumption.
  - constructor.
  - constructor. rewrite Forall_forall in *. auto.
Qed.

Lemma all_within_more : forall n m ts, n <= m -> List.Forall (within n) ts -> List.Forall (within m) ts.
Proof. intros n m ts more. apply Forall_impl. intros t. apply within_more, more. Qed.

Lemma formula_within_more : forall n m f, n <= m -> formula_within n f -> formula_within m f.
Proof.
  intros n m f more. induction f; simpl; intuition eauto using within_more, all_within_more.
Qed.

Lemma ground_within : forall n env t, List.Forall (within n) env -> within n t -> within n (ground env t).
Proof.
  intros n env t in_env. induction t as [k | k | m | f ts IH] using term_induction; simpl; intros inside.
  - destruct (nth_in_or_default k env (Bound k)) as [found | ->]; [| exact inside].
    rewrite Forall_forall in in_env. auto.
  - exact inside.
  - exact inside.
  - inversion inside; subst. constructor. rewrite Forall_map. rewrite Forall_forall in *. auto.
Qed.

Lemma plain_term_within : forall scope n t, plain_term scope t = true -> within n t.
Proof.
  intros scope n t. induction t as [k | k | m | f ts IH] using term_induction; simpl; intros plain_t.
  - constructor.
  - discriminate.
  - constructor.
  - constructor. rewrite forallb_forall in plain_t. rewrite Forall_forall in *. auto.
Qed.

(** An obligation mentions no eigenvariable at all. *)
Lemma plain_within : forall n f scope, plain scope f = true -> formula_within n f.
Proof.
  intros n. induction f; simpl; intros scope plain_f;
    take_apart; intuition eauto using plain_term_within.
  rewrite forallb_forall in plain_f. apply Forall_forall. eauto using plain_term_within.
Qed.

(** ** Values and truth *)

Section Values.
Variable S : signature.
Variable M : structure.
Hypothesis interpreted : interprets S M.

Implicit Types named : nat -> element M.

(** They depend only on the elements that are mentioned. *)
Definition agree (n : nat) named named' : Prop := forall k, k < n -> named k = named' k.

Lemma value_agrees : forall n named named' env t,
  agree n named named' -> within n t -> value M named env t = value M named' env t.
Proof.
  intros n named named' env t same. induction t as [k | k | m | f ts IH] using term_induction; simpl; intros inside;
    inversion inside; subst.
  - reflexivity.
  - auto.
  - reflexivity.
  - f_equal. apply map_ext_in. rewrite Forall_forall in *. auto.
Qed.

Lemma values_agree : forall n named named' env ts,
  agree n named named' -> List.Forall (within n) ts -> map (value M named env) ts = map (value M named' env) ts.
Proof.
  intros n named named' env ts same inside. apply map_ext_in. rewrite Forall_forall in inside.
  intros t found. apply (value_agrees n); auto.
Qed.

Lemma truth_agrees : forall n named named' f env,
  agree n named named' -> formula_within n f -> (true_in M named env f <-> true_in M named' env f).
Proof.
  intros n named named' f. induction f; intros env same inside; simpl in *.
  - tauto.
  - rewrite (values_agree n named named'); tauto.
  - destruct inside as [in_left in_right].
    rewrite (value_agrees n named named' env left), (value_agrees n named named' env right); tauto.
  - rewrite IHf; tauto.
  - destruct inside. rewrite IHf1, IHf2; tauto.
  - destruct inside. rewrite IHf1, IHf2; tauto.
  - destruct inside. rewrite IHf1, IHf2; tauto.
  - destruct inside as (in_test & in_yes & in_no). rewrite IHf1, IHf2, IHf3; tauto.
  - split; intros holds x in_s; apply (IHf (x :: env)); auto.
  - split; intros (x & in_s & holds); exists x; (split; [exact in_s |]); apply (IHf (x :: env)); auto.
Qed.

(** To replace variables by terms is to look at the terms' values. *)
Lemma value_ground : forall named env t,
  value M named [] (ground env t) = value M named (map (value M named []) env) t.
Proof.
  intros named env t. induction t as [k | k | m | f ts IH] using term_induction; simpl.
  - rewrite <- (map_nth (value M named [])). destruct k; reflexivity.
  - reflexivity.
  - reflexivity.
  - f_equal. rewrite map_map. apply map_ext_in. rewrite Forall_forall in IH. auto.
Qed.

(** To replace a term by one of the same value changes nothing. *)
Lemma value_rewrite : forall named a b t,
  value M named [] a = value M named [] b -> value M named [] (rewrite a b t) = value M named [] t.
Proof.
  intros named a b t equal.
  induction t as [k | k | m | f ts IH] using term_induction; cbn [rewrite];
    match goal with |- context [same_term ?t a] => destruct (same_term t a) eqn:same end;
    try (apply same_term_equal in same; subst a; symmetry; exact equal); try reflexivity.
  simpl. f_equal. rewrite map_map. apply map_ext_in. rewrite Forall_forall in IH. exact IH.
Qed.

(** ** Sorts *)

Definition sorts_fit (sorts : list sort) named : Prop :=
  forall n s, nth_error sorts n = Some s -> of_sort M s (named n).

Lemma sort_of_fits : forall sorts named t s,
  sorts_fit sorts named -> sort_of S sorts t = Some s ->
  within (length sorts) t /\ of_sort M s (value M named [] t).
Proof.
  intros sorts named t s fit. revert s.
  induction t as [k | n | m | f ts IH] using term_induction; intros s sorted; simpl in *.
  - discriminate.
  - split; [constructor | apply fit, sorted]. apply nth_error_Some. congruence.
  - split; [constructor | exact (member_sorted S M interpreted m s sorted)].
  - destruct (function_sorts S f) as [[ss result] |] eqn:declared; [| discriminate].
    destruct (all2 is_sort (map (sort_of S sorts) ts) ss) eqn:arguments_fit; [| discriminate].
    injection sorted as ->. apply all2_Forall2 in arguments_fit.
    enough (each : List.Forall (within (length sorts)) ts /\ Forall2 (of_sort M) ss (map (value M named []) ts)).
    { destruct each as [inside values_fit]. split; [constructor; exact inside |].
      exact (function_closed S M interpreted f ss s _ declared values_fit). }
    clear declared. revert ss arguments_fit. induction IH as [| t ts fits_t _ IHts]; simpl; intros ss arguments_fit;
      inversion arguments_fit as [| o s' sorts' ss' sort_t rest]; subst.
    + split; constructor.
    + unfold is_sort in sort_t. destruct (sort_of S sorts t) as [s'' |]; [| discriminate].
      apply Pos.eqb_eq in sort_t as ->.
      destruct (fits_t s' eq_refl). destruct (IHts ss' rest). split; constructor; assumption.
Qed.

Lemma is_sort_fits : forall sorts named t s,
  sorts_fit sorts named -> is_sort (sort_of S sorts t) s = true ->
  within (length sorts) t /\ of_sort M s (value M named [] t).
Proof.
  intros sorts named t s fit. unfold is_sort. destruct (sort_of S sorts t) as [s' |] eqn:sorted; [| discriminate].
  rewrite Pos.eqb_eq. intros ->. apply sort_of_fits; assumption.
Qed.
End Values.
