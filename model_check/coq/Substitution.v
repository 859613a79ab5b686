(** Sorted terms denote elements of their sorts, and to substitute a term is to read what it denotes. *)
From Coq Require Import List Bool PeanoNat PArith Lia.
Import ListNotations.
From Carnet Require Import Logic Checker Groundwork Protocol Obligations.

Ltac split_and :=
  repeat match goal with H : _ && _ = true |- _ => apply andb_true_iff in H; destruct H end.

(** ** Lists *)

Lemma Forall2_map_left : forall A B C (R : B -> C -> Prop) (f : A -> B) xs ys,
  Forall2 R (map f xs) ys <-> Forall2 (fun x y => R (f x) y) xs ys.
Proof.
  intros A B C R f xs. induction xs as [|x xs IH]; intros ys; split; intros H; inversion H; subst; constructor; auto;
    apply IH; assumption.
Qed.

Lemma Forall2_mono : forall A B (R Q : A -> B -> Prop) xs ys,
  (forall x y, R x y -> Q x y) -> Forall2 R xs ys -> Forall2 Q xs ys.
Proof. intros A B R Q xs ys I H. induction H; constructor; auto. Qed.

Lemma Forall2_flip : forall A B (R : A -> B -> Prop) xs ys, Forall2 R xs ys -> Forall2 (fun y x => R x y) ys xs.
Proof. intros A B R xs ys H. induction H; constructor; auto. Qed.

Lemma map_same : forall A B C (f g : A -> B) (xs : list A) (ys : list C),
  Forall2 (fun x _ => f x = g x) xs ys -> map f xs = map g xs.
Proof. intros A B C f g xs ys H. induction H; simpl; congruence. Qed.

Lemma in_scope : forall A (xs : list A) k x, nth_error xs k = Some x -> k < length xs.
Proof. intros A xs k x H. apply nth_error_Some. congruence. Qed.

Lemma is_sort_some : forall o s, is_sort o s = true -> o = Some s.
Proof. intros [s'|] s H; simpl in H; [apply Pos.eqb_eq in H; congruence|discriminate]. Qed.

(** ** Under quantifiers *)

Lemma all_iff : forall A (D Q R : A -> Prop),
  (forall x, D x -> (Q x <-> R x)) -> ((forall x, D x -> Q x) <-> (forall x, D x -> R x)).
Proof. intros A D Q R H. split; intros K x Dx; apply (H x Dx); auto. Qed.

Lemma some_iff : forall A (D Q R : A -> Prop),
  (forall x, D x -> (Q x <-> R x)) -> ((exists x, D x /\ Q x) <-> (exists x, D x /\ R x)).
Proof. intros A D Q R H. split; intros (x & Dx & K); exists x; (split; [exact Dx|apply (H x Dx); exact K]). Qed.

(** ** Terms and sorts *)

Section Sorted.
Variable P : protocol.

Lemma sorted_arguments : forall scope ts ss, all2 is_sort (map (sort_in P scope) ts) ss = true ->
  Forall2 (fun t s => sort_in P scope t = Some s) ts ss.
Proof.
  intros scope ts ss H. apply all2_Forall2 in H. apply (Forall2_map_left _ _ _ _ _ ts ss) in H.
  revert H. apply Forall2_mono. intros t s. apply is_sort_some.
Qed.

(** Induction over terms that have a sort. *)
Lemma sorted_term_induction : forall scope (Q : term -> sort -> Prop),
  (forall k s, nth_error scope k = Some s -> Q (Bound k) s) ->
  (forall m s, sort_of_member P m = Some s -> Q (Member m) s) ->
  (forall f ts ss s, sorts_of_function P f = Some (ss, s) -> Forall2 Q ts ss -> Q (Apply f ts) s) ->
  forall t s, sort_in P scope t = Some s -> Q t s.
Proof.
  intros scope Q QB QM QA. induction t as [k|n|m|f ts IH] using term_induction; intros s H; simpl in H; auto.
  - discriminate.
  - destruct (sorts_of_function P f) as [(ss, s')|] eqn:F; [|discriminate].
    destruct (all2 is_sort (map (sort_in P scope) ts) ss) eqn:E; [|discriminate]. injection H as <-.
    apply sorted_arguments in E. apply (QA f ts ss s' F). clear F. revert IH.
    induction E as [|t s ts ss T _ IHE]; intros IH; inversion IH; subst; constructor; auto.
Qed.

(** The same for lists of terms. *)
Lemma sorted_terms : forall scope (Q : term -> sort -> Prop),
  (forall t s, sort_in P scope t = Some s -> Q t s) ->
  forall ts ss, all2 is_sort (map (sort_in P scope) ts) ss = true -> Forall2 Q ts ss.
Proof. intros scope Q H ts ss E. apply sorted_arguments in E. revert E. apply Forall2_mono. exact H. Qed.

(** ** In one structure *)

Section One.
Variable N : structure.
Variable named : nat -> element N.
Notation denotes := (value N named).
Notation is_true := (true_in N named).

Lemma value_lift : forall x env t, denotes (x :: env) (lift t) = denotes env t.
Proof.
  intros x env. induction t as [k|n|m|f ts IH] using term_induction; simpl; auto.
  f_equal. rewrite map_map. apply map_ext_Forall. exact IH.
Qed.

Lemma value_substituted : forall scope env sg, length scope = length sg -> forall t s, sort_in P scope t = Some s ->
  denotes env (ground sg t) = denotes (map (denotes env) sg) t.
Proof.
  intros scope env sg L. apply sorted_term_induction.
  - intros k s H. apply in_scope in H. simpl. rewrite <- (map_nth (denotes env)).
    apply nth_indep. rewrite map_length. lia.
  - reflexivity.
  - intros f ts ss s _ H. simpl. f_equal. rewrite map_map. revert H. apply map_same.
Qed.

Lemma values_substituted : forall scope env sg ts ss, length scope = length sg ->
  all2 is_sort (map (sort_in P scope) ts) ss = true ->
  map (denotes env) (map (ground sg) ts) = map (denotes (map (denotes env) sg)) ts.
Proof.
  intros scope env sg ts ss L H. rewrite map_map. apply (map_same _ _ _ _ _ ts ss).
  revert H. apply sorted_terms. exact (value_substituted scope env sg L).
Qed.

Lemma values_under_binder : forall x env sg,
  map (denotes (x :: env)) (Bound 0 :: map lift sg) = x :: map (denotes env) sg.
Proof. intros x env sg. simpl. f_equal. rewrite map_map. apply map_ext. intros t. apply value_lift. Qed.

Lemma true_substituted : forall f scope env sg, length scope = length sg -> sorted P scope f = true ->
  (is_true env (substitute sg f) <-> is_true (map (denotes env) sg) f).
Proof.
  induction f as [v|r ts|a b|g IHg|g IHg h IHh|g IHg h IHh|g IHg h IHh|c IHc g IHg h IHh|s g IHg|s g IHg];
    intros scope env sg L W; cbn [sorted] in W; split_and; cbn [substitute true_in].
  - tauto.
  - destruct (sorts_of_relation P r) as [ss|]; [|discriminate].
    rewrite (values_substituted scope env sg _ ss L W). tauto.
  - destruct (sort_in P scope a) as [s|] eqn:A; [|discriminate]. apply is_sort_some in W.
    rewrite (value_substituted scope env sg L _ s A), (value_substituted scope env sg L _ s W). tauto.
  - rewrite (IHg scope) by assumption. tauto.
  - rewrite (IHg scope), (IHh scope) by assumption. tauto.
  - rewrite (IHg scope), (IHh scope) by assumption. tauto.
  - rewrite (IHg scope), (IHh scope) by assumption. tauto.
  - rewrite (IHc scope), (IHg scope), (IHh scope) by assumption. tauto.
  - apply all_iff. intros x _. rewrite <- values_under_binder. apply (IHg (s :: scope)); [|exact W].
    simpl. rewrite map_length. congruence.
  - apply some_iff. intros x _. rewrite <- values_under_binder. apply (IHg (s :: scope)); [|exact W].
    simpl. rewrite map_length. congruence.
Qed.

(** What comes after the variables in scope does not matter. *)
Lemma value_weaken : forall scope env more, length scope = length env -> forall t s, sort_in P scope t = Some s ->
  denotes (env ++ more) t = denotes env t.
Proof.
  intros scope env more L. apply sorted_term_induction.
  - intros k s H. apply in_scope in H. simpl. apply app_nth1. lia.
  - reflexivity.
  - intros f ts ss s _ H. simpl. f_equal. revert H. apply map_same.
Qed.

Lemma true_weaken : forall f scope env more, length scope = length env -> sorted P scope f = true ->
  (is_true (env ++ more) f <-> is_true env f).
Proof.
  induction f as [v|r ts|a b|g IHg|g IHg h IHh|g IHg h IHh|g IHg h IHh|c IHc g IHg h IHh|s g IHg|s g IHg];
    intros scope env more L W; cbn [sorted] in W; split_and; cbn [true_in].
  - tauto.
  - destruct (sorts_of_relation P r) as [ss|]; [|discriminate].
    rewrite (map_same _ _ _ (denotes (env ++ more)) (denotes env) _ ss); [tauto|].
    revert W. apply sorted_terms. exact (value_weaken scope env more L).
  - destruct (sort_in P scope a) as [s|] eqn:A; [|discriminate]. apply is_sort_some in W.
    rewrite (value_weaken scope env more L _ s A), (value_weaken scope env more L _ s W). tauto.
  - rewrite (IHg scope) by assumption. tauto.
  - rewrite (IHg scope), (IHh scope) by assumption. tauto.
  - rewrite (IHg scope), (IHh scope) by assumption. tauto.
  - rewrite (IHg scope), (IHh scope) by assumption. tauto.
  - rewrite (IHc scope), (IHg scope), (IHh scope) by assumption. tauto.
  - apply all_iff. intros x _. apply (IHg (s :: scope) (x :: env) more); simpl; auto.
  - apply some_iff. intros x _. apply (IHg (s :: scope) (x :: env) more); simpl; auto.
Qed.

(** A formula without free variables is true whatever stands for variables. *)
Corollary true_closed : forall f env, sorted P [] f = true -> (is_true env f <-> is_true [] f).
Proof. intros f env. exact (true_weaken f [] [] env eq_refl). Qed.

Hypothesis Sound : interprets (whole P) N.

Lemma value_of_sort : forall scope env, Forall2 (of_sort N) scope env ->
  forall t s, sort_in P scope t = Some s -> of_sort N s (denotes env t).
Proof.
  intros scope env E. apply sorted_term_induction.
  - intros k s H. exact (Forall2_nth _ _ _ E k s (stray N) H).
  - intros m s H. exact (member_sorted _ _ Sound m s H).
  - intros f ts ss s F H. apply (function_closed _ _ Sound f ss s); [exact F|].
    apply Forall2_flip, Forall2_map_left. exact H.
Qed.

Lemma values_of_sorts : forall scope env, Forall2 (of_sort N) scope env ->
  forall ts ss, all2 is_sort (map (sort_in P scope) ts) ss = true -> Forall2 (of_sort N) ss (map (denotes env) ts).
Proof.
  intros scope env E ts ss H. apply Forall2_flip, Forall2_map_left.
  revert H. apply sorted_terms. exact (value_of_sort scope env E).
Qed.
End One.
End Sorted.
