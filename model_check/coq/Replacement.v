(** A formula in which every application is replaced by what it is in another state holds here exactly if the formula
    itself holds there. *)
From Coq Require Import List Bool PeanoNat PArith Lia.
Import ListNotations.
From Carnet Require Import Logic Checker Groundwork Protocol Obligations Substitution.

Section States.
Variable P : protocol.
Variable M : structure.
Notation nobody := (nothing_named M).

(** ** What never changes *)

Lemma rigid_value : forall w env t, rigid_term P t = true -> value_now P M w env t = value M nobody env t.
Proof.
  intros w env t. unfold value_now. induction t as [k|n|m|f ts IH] using term_induction; simpl; intros R; auto.
  split_and. destruct (changes P f); [discriminate|]. f_equal. apply map_ext_in. intros t I.
  rewrite Forall_forall in IH. rewrite forallb_forall in *. auto.
Qed.

Lemma rigid_values : forall w env ts, forallb (rigid_term P) ts = true ->
  map (value_now P M w env) ts = map (value M nobody env) ts.
Proof.
  intros w env ts R. apply map_ext_in. intros t I. apply rigid_value. rewrite forallb_forall in R. auto.
Qed.

Lemma rigid_true : forall w f env, rigid_formula P f = true -> (true_now P M w env f <-> true_in M nobody env f).
Proof.
  intros w. unfold true_now.
  induction f as [v|r ts|a b|g IHg|g IHg h IHh|g IHg h IHh|g IHg h IHh|c IHc g IHg h IHh|s g IHg|s g IHg];
    intros env R; cbn [rigid_formula] in R; split_and; cbn [true_in].
  - tauto.
  - change (map (value (during P M w) nobody env) ts) with (map (value_now P M w env) ts).
    rewrite rigid_values by assumption. simpl. destruct (changes P r); [discriminate|tauto].
  - change (value_now P M w env a = value_now P M w env b <-> value M nobody env a = value M nobody env b).
    rewrite !rigid_value by assumption. tauto.
  - rewrite IHg by assumption. tauto.
  - rewrite IHg, IHh by assumption. tauto.
  - rewrite IHg, IHh by assumption. tauto.
  - rewrite IHg, IHh by assumption. tauto.
  - rewrite IHc, IHg, IHh by assumption. tauto.
  - apply all_iff. intros x _. apply IHg. exact R.
  - apply some_iff. intros x _. apply IHg. exact R.
Qed.

(** A structure for what never changes and a well-sorted state are a structure for everything. *)
Lemma during_interprets : forall w, interprets (rigid P) M -> well_sorted P M w -> interprets (whole P) (during P M w).
Proof.
  intros w I W. constructor; simpl.
  - intros f ss s xs F X. destruct (changes P f) eqn:C.
    + exact (W f ss s xs F C X).
    + apply (function_closed _ _ I f ss s xs); [|exact X]. simpl. rewrite C. exact F.
  - exact (member_sorted _ _ I).
  - exact (members_differ _ _ I).
  - exact (members_exhaust _ _ I).
Qed.

(** ** Choices *)

Section Here.
Variable w : world M.
Hypothesis Decided : two_valued (during P M w).

(** What the choice comes to in state [w] has the property [Q]. *)
Fixpoint comes_to {A} (env : list (element M)) (c : choice A) (Q : A -> Prop) : Prop :=
  match c with
  | Sure x => Q x
  | If test yes no =>
      (true_now P M w env test -> comes_to env yes Q) /\ (~ true_now P M w env test -> comes_to env no Q)
  end.

Lemma comes_to_mono : forall A env (c : choice A) (Q R : A -> Prop),
  (forall x, Q x -> R x) -> comes_to env c Q -> comes_to env c R.
Proof.
  intros A env c Q R I. induction c as [x|test yes IHyes no IHno]; simpl; auto. intros (Y & N). auto.
Qed.

Lemma comes_to_then : forall A B env (c : choice A) (k : A -> choice B) (Q : B -> Prop),
  comes_to env c (fun x => comes_to env (k x) Q) -> comes_to env (and_then c k) Q.
Proof.
  intros A B env c k Q. induction c as [x|test yes IHyes no IHno]; simpl; auto. intros (Y & N). auto.
Qed.

Lemma comes_to_in_order : forall A B env (R : A -> B -> Prop) cs ys,
  Forall2 (fun c y => comes_to env c (fun x => R x y)) cs ys ->
  comes_to env (in_order cs) (fun xs => Forall2 R xs ys).
Proof.
  intros A B env R cs ys H. induction H as [|c y cs ys Hc _ IH]; simpl; [constructor|].
  apply comes_to_then. revert Hc. apply comes_to_mono. intros x Rx.
  apply comes_to_then. revert IH. apply comes_to_mono. intros xs Rxs. constructor; assumption.
Qed.

Lemma true_settled : forall env (c : choice formula) (X : Prop),
  comes_to env c (fun f => true_now P M w env f <-> X) -> (true_now P M w env (settled c) <-> X).
Proof.
  intros env c X. induction c as [f|test yes IHyes no IHno]; [auto|].
  intros (Y & N). change (true_now P M w env (settled (If test yes no)))
    with ((true_now P M w env test -> true_now P M w env (settled yes)) /\
          (~ true_now P M w env test -> true_now P M w env (settled no))).
  destruct (Decided nobody env test) as [T|T].
  - specialize (IHyes (Y T)). fold (true_now P M w env test) in T. tauto.
  - specialize (IHno (N T)). fold (true_now P M w env test) in T. tauto.
Qed.

(** ** Replacement: [w] is here, [w'] is there; [xs] are the parameters, which are known only here *)

Variable w' : world M.
Variable xs : list (element M).
Hypothesis There : interprets (whole P) (during P M w').

Variable function_is : nat -> symbol -> list term -> choice term.
Variable relation_is : nat -> symbol -> list term -> formula.

Notation here env := (value_now P M w (env ++ xs)).
Notation there env := (value_now P M w' env).

Hypothesis function_right : forall env f ss s ts, sorts_of_function P f = Some (ss, s) ->
  Forall2 (of_sort M) ss (map (here env) ts) ->
  comes_to (env ++ xs) (function_is (length env) f ts)
    (fun t => here env t = function (during P M w') f (map (here env) ts)).
Hypothesis relation_right : forall env r ss ts, sorts_of_relation P r = Some ss ->
  Forall2 (of_sort M) ss (map (here env) ts) ->
  (true_now P M w (env ++ xs) (relation_is (length env) r ts) <-> relation (during P M w') r (map (here env) ts)).

Notation replaced_term := (replaced_term function_is).
Notation replaced := (replaced function_is relation_is).

Lemma same_values : forall env ts ts', Forall2 (fun t' t => here env t' = there env t) ts' ts ->
  map (here env) ts' = map (there env) ts.
Proof. intros env ts ts' H. induction H; simpl; congruence. Qed.

Lemma replaced_term_right : forall scope env, Forall2 (of_sort M) scope env ->
  forall t s, sort_in P scope t = Some s ->
  comes_to (env ++ xs) (replaced_term (length env) t) (fun t' => here env t' = there env t).
Proof.
  intros scope env E.
  enough (both : forall t s, sort_in P scope t = Some s ->
    of_sort M s (there env t) /\
    comes_to (env ++ xs) (replaced_term (length env) t) (fun t' => here env t' = there env t))
    by (intros t s H; exact (proj2 (both t s H))).
  apply sorted_term_induction.
  - intros k s H. split; [exact (Forall2_nth _ _ _ E k s (stray M) H)|].
    simpl. apply app_nth1. rewrite <- (Forall2_same_length _ _ _ E). exact (in_scope _ _ _ _ H).
  - intros m s H. split; [exact (member_sorted _ _ There m s H)|reflexivity].
  - intros f ts ss s F H.
    assert (row : Forall2 (of_sort M) ss (map (there env) ts)).
    { apply Forall2_flip, Forall2_map_left. revert H. apply Forall2_mono. tauto. }
    split; [exact (function_closed _ _ There f ss s _ F row)|].
    simpl. apply comes_to_then.
    apply (comes_to_mono _ _ _ (fun ts' => Forall2 (fun t' t => here env t' = there env t) ts' ts)).
    + intros ts' V. apply same_values in V.
      change (comes_to (env ++ xs) (function_is (length env) f ts')
        (fun t' => here env t' = function (during P M w') f (map (there env) ts))).
      rewrite <- V. rewrite <- V in row. exact (function_right env f ss s ts' F row).
    + apply comes_to_in_order. apply Forall2_map_left. clear F row.
      induction H as [|t s' ts ss Ht _ IH]; constructor; tauto.
Qed.

Lemma replaced_terms_right : forall scope env ts ss, Forall2 (of_sort M) scope env ->
  all2 is_sort (map (sort_in P scope) ts) ss = true ->
  comes_to (env ++ xs) (in_order (map (replaced_term (length env)) ts))
    (fun ts' => map (here env) ts' = map (there env) ts).
Proof.
  intros scope env ts ss E H.
  apply (comes_to_mono _ _ _ (fun ts' => Forall2 (fun t' t => here env t' = there env t) ts' ts)).
  - exact (same_values env ts).
  - apply comes_to_in_order. apply Forall2_map_left. apply sorted_arguments in H.
    induction H as [|t s ts ss Ht _ IH]; constructor; [exact (replaced_term_right scope env E t s Ht)|exact IH].
Qed.

Theorem replaced_right : forall f scope env, Forall2 (of_sort M) scope env -> sorted P scope f = true ->
  (true_now P M w (env ++ xs) (replaced (length env) f) <-> true_now P M w' env f).
Proof.
  induction f as [v|r ts|a b|g IHg|g IHg h IHh|g IHg h IHh|g IHg h IHh|c IHc g IHg h IHh|s g IHg|s g IHg];
    intros scope env E W; cbn [sorted] in W; cbn [Obligations.replaced].
  - reflexivity.
  - destruct (sorts_of_relation P r) as [ss|] eqn:R; [|discriminate].
    apply true_settled, comes_to_then.
    generalize (replaced_terms_right scope env ts ss E W). apply comes_to_mono. intros ts' V.
    change (true_now P M w (env ++ xs) (relation_is (length env) r ts') <->
            relation (during P M w') r (map (there env) ts)).
    rewrite <- V. apply (relation_right env r ss); [exact R|].
    rewrite V. exact (values_of_sorts P (during P M w') nobody There scope env E ts ss W).
  - destruct (sort_in P scope a) as [s|] eqn:A; [|discriminate]. apply is_sort_some in W.
    apply true_settled, comes_to_then.
    generalize (replaced_term_right scope env E a s A). apply comes_to_mono. intros a' VA.
    apply comes_to_then.
    generalize (replaced_term_right scope env E b s W). apply comes_to_mono. intros b' VB.
    change (here env a' = here env b' <-> there env a = there env b). rewrite VA, VB. tauto.
  - specialize (IHg scope env E W). unfold true_now in *. cbn [true_in]. tauto.
  - apply andb_true_iff in W as [Wg Wh]. specialize (IHg scope env E Wg). specialize (IHh scope env E Wh).
    unfold true_now in *. cbn [true_in]. tauto.
  - apply andb_true_iff in W as [Wg Wh]. specialize (IHg scope env E Wg). specialize (IHh scope env E Wh).
    unfold true_now in *. cbn [true_in]. tauto.
  - apply andb_true_iff in W as [Wg Wh]. specialize (IHg scope env E Wg). specialize (IHh scope env E Wh).
    unfold true_now in *. cbn [true_in]. tauto.
  - apply andb_true_iff in W as [Wc W]. apply andb_true_iff in W as [Wg Wh].
    specialize (IHc scope env E Wc). specialize (IHg scope env E Wg). specialize (IHh scope env E Wh).
    unfold true_now in *. cbn [true_in]. tauto.
  - apply all_iff. intros x X. apply (IHg (s :: scope) (x :: env)); [constructor; assumption|exact W].
  - apply some_iff. intros x X. apply (IHg (s :: scope) (x :: env)); [constructor; assumption|exact W].
Qed.
End Here.
End States.
