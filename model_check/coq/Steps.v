(** The generated formulas are right: a precondition holds before a step exactly if the claim holds after it, and a
    formula for the first state holds in it exactly if the claim does. *)
From Coq Require Import List Bool PeanoNat PArith Lia.
Import ListNotations.
From Carnet Require Import Logic Checker Groundwork Protocol Obligations Substitution Replacement.

(** ** Lists *)

Lemma map_matched : forall A B (f : A -> B) p xs, map f (matched p xs) = matched p (map f xs).
Proof. intros A B f. induction p as [|[u|] p IH]; intros [|x xs]; simpl; auto. rewrite IH. reflexivity. Qed.

Lemma matched_sorts : forall A (R : sort -> A -> Prop) p ss row,
  Forall2 R ss row -> Forall2 R (matched p ss) (matched p row).
Proof.
  intros A R. induction p as [|[u|] p IH]; intros ss row H; destruct H; simpl; auto.
Qed.

Lemma matched_length : forall A B p (xs : list A) (ys : list B), length xs = length ys ->
  length (matched p xs) = length (matched p ys).
Proof.
  intros A B. induction p as [|[u|] p IH]; intros [|x xs] [|y ys] H; simpl in *; auto; discriminate.
Qed.

Lemma nth_places : forall A (d : A) (before xs : list A),
  map (fun i => nth (length before + i) (before ++ xs) d) (seq 0 (length xs)) = xs.
Proof.
  intros A d before xs.
  rewrite (map_ext _ (fun i => nth i xs d)); [|intros i; rewrite app_nth2_plus; reflexivity].
  induction xs as [|x xs IH]; simpl; [reflexivity|]. f_equal. rewrite <- seq_shift, map_map. exact IH.
Qed.

(** Updates of other symbols do nothing. *)
Lemma fold_others : forall A (g : A -> update -> A) s us x, (forall u, In u us -> Pos.eqb (changed u) s = false) ->
  fold_left (fun x u => if Pos.eqb (changed u) s then g x u else x) us x = x.
Proof.
  intros A g s us. induction us as [|u us IH]; intros x H; simpl; auto.
  rewrite (H u (or_introl eq_refl)). apply IH. intros v I. exact (H v (or_intror I)).
Qed.

Section Steps.
Variable P : protocol.
Variable M : structure.
Hypothesis Rigid : interprets (rigid P) M.
Notation nobody := (nothing_named M).

(** What [sorted_update] has checked. *)
Record fitting (params : list sort) (u : update) (d : declaration) : Prop := {
  fit_declared : declaration_of P (changed u) = Some d;
  fit_changes : changes P (changed u) = true;
  fit_pattern : Forall2 (fun p s => match p with Some t => sort_in P params t = Some s | None => True end)
                  (pattern u) (arguments d);
  fit_condition : sorted P (matched (pattern u) (arguments d) ++ params) (condition u) = true;
  fit_change : match change u, result d with
               | Insert, None | Remove, None => True
               | Assign t, Some s => sort_in P (matched (pattern u) (arguments d) ++ params) t = Some s
               | _, _ => False
               end }.

Lemma sorted_update_fits : forall params u, sorted_update P params u = true -> exists d, fitting params u d.
Proof.
  intros params u H. unfold sorted_update in H. split_and.
  destruct (declaration_of P (changed u)) as [d|] eqn:D; [|discriminate]. split_and. exists d. constructor; auto.
  - match goal with K : all2 _ _ _ = true |- _ => apply all2_Forall2 in K; revert K end.
    apply Forall2_mono. intros [t|] s; auto. apply is_sort_some.
  - destruct (change u) as [| |t], (result d) as [s|]; try discriminate; auto. apply is_sort_some. assumption.
Qed.

Lemma untouched_symbol : forall params us s, forallb (sorted_update P params) us = true -> changes P s = false ->
  forall u, In u us -> Pos.eqb (changed u) s = false.
Proof.
  intros params us s W C u I. rewrite forallb_forall in W. destruct (sorted_update_fits params u (W u I)) as (d & F).
  destruct (Pos.eqb_spec (changed u) s) as [<-|]; auto. rewrite (fit_changes _ _ _ F) in C. discriminate.
Qed.

(** ** After a step *)

Section One.
Variable w : world M.
Hypothesis Now : well_sorted P M w.
Hypothesis Decided : two_valued (during P M w).
Variable params : list sort.
Variable xs : list (element M).
Hypothesis Given : Forall2 (of_sort M) params xs.
Notation count := (length params).
Notation here env := (value_now P M w (env ++ xs)).
Notation holds_here env := (true_now P M w (env ++ xs)).

Lemma values_of_parameters : forall env, map (here env) (parameters_at count (length env)) = xs.
Proof.
  intros env. unfold parameters_at. rewrite map_map, (Forall2_same_length _ _ _ Given).
  exact (nth_places _ (stray M) env xs).
Qed.

Lemma values_of_here : forall env u ts, map (here env) (Obligations.here count (length env) u ts) =
  matched (pattern u) (map (here env) ts) ++ xs.
Proof.
  intros env u ts. unfold Obligations.here. rewrite map_app, map_matched, values_of_parameters. reflexivity.
Qed.

Lemma length_of_here : forall (env : list (element M)) u (ss : list sort) (ts : list term), length ss = length ts ->
  length (matched (pattern u) ss ++ params) = length (Obligations.here count (length env) u ts).
Proof.
  intros env u ss ts L. unfold Obligations.here, parameters_at.
  rewrite !app_length, map_length, seq_length, (matched_length _ _ _ _ _ L). reflexivity.
Qed.

Lemma true_equations : forall env p ss ts rest (X : Prop),
  Forall2 (fun p s => match p with Some t => sort_in P params t = Some s | None => True end) p ss ->
  length ss = length ts -> (holds_here env rest <-> X) ->
  (holds_here env (equations count (length env) p ts rest) <-> fits P M w xs p (map (here env) ts) /\ X).
Proof.
  intros env p ss ts rest X F. revert ts.
  induction F as [|[u|] s p ss U _ IH]; intros [|t ts] L R; simpl in L; try discriminate; injection L as L || clear L.
  - simpl. tauto.
  - cbn [equations map fits].
    assert (V : here env (ground (parameters_at count (length env)) u) = value_now P M w xs u).
    { rewrite <- (values_of_parameters env) at 2.
      apply (value_substituted P (during P M w) nobody params) with (s := s); [|exact U].
      unfold parameters_at. rewrite map_length, seq_length. reflexivity. }
    change (here env t = here env (ground (parameters_at count (length env)) u)
              /\ holds_here env (equations count (length env) p ts rest)
            <-> (here env t = value_now P M w xs u /\ fits P M w xs p (map (here env) ts)) /\ X).
    rewrite V, (IH ts L R). tauto.
  - cbn [equations map fits]. exact (IH ts L R).
Qed.

Lemma true_applies : forall env u d ts, fitting params u d -> length (arguments d) = length ts ->
  (holds_here env (applies count (length env) u ts) <-> takes_place P M w xs u (map (here env) ts)).
Proof.
  intros env u d ts F L. apply (true_equations env _ (arguments d) ts); [exact (fit_pattern _ _ _ F)|exact L|].
  unfold true_now.
  rewrite (true_substituted P (during P M w) nobody _ _ _ _ (length_of_here env u _ _ L) (fit_condition _ _ _ F)).
  change (value (during P M w) nobody (env ++ xs)) with (here env). rewrite values_of_here. reflexivity.
Qed.

Lemma relation_then_right : forall r ss env ts us, sorts_of_relation P r = Some ss -> length ss = length ts ->
  forallb (sorted_update P params) us = true -> forall g (before : Prop), (holds_here env g <-> before) ->
  (holds_here env
     (fold_left (fun before u =>
        if Pos.eqb (changed u) r then
          match change u with
          | Insert => Or before (applies count (length env) u ts)
          | Remove => And before (Not (applies count (length env) u ts))
          | Assign _ => before
          end
        else before) us g)
   <-> relation_after P M w xs us r (map (here env) ts) before).
Proof.
  intros r ss env ts us R L. induction us as [|u us IH]; intros W g before B; [exact B|].
  cbn [forallb] in W. split_and. cbn [fold_left relation_after]. apply IH; [assumption|]. clear IH.
  destruct (Pos.eqb_spec (changed u) r) as [E|]; [|exact B].
  destruct (sorted_update_fits params u) as (d & F); [assumption|].
  assert (A : arguments d = ss).
  { unfold sorts_of_relation in R. rewrite <- E, (fit_declared _ _ _ F) in R. destruct (result d); congruence. }
  assert (T := true_applies env u d ts F). rewrite A in T. specialize (T L).
  destruct (change u).
  - change (holds_here env g \/ holds_here env (applies count (length env) u ts) <->
            before \/ takes_place P M w xs u (map (here env) ts)). tauto.
  - change (holds_here env g /\ ~ holds_here env (applies count (length env) u ts) <->
            before /\ ~ takes_place P M w xs u (map (here env) ts)). tauto.
  - exact B.
Qed.

Lemma function_then_right : forall f ss s env ts us, sorts_of_function P f = Some (ss, s) -> length ss = length ts ->
  forallb (sorted_update P params) us = true ->
  forall x (c : choice term) (before : element M -> Prop),
  (forall y, before y -> comes_to P M w (env ++ xs) c (fun t => here env t = y)) ->
  function_after P M w xs us f (map (here env) ts) before x ->
  comes_to P M w (env ++ xs)
    (fold_left (fun before u =>
       if Pos.eqb (changed u) f then
         match change u with
         | Assign t =>
             If (applies count (length env) u ts) (Sure (ground (Obligations.here count (length env) u ts) t)) before
         | _ => before
         end
       else before) us c) (fun t => here env t = x).
Proof.
  intros f ss s env ts us D L. induction us as [|u us IH]; intros W x c before B After; [exact (B x After)|].
  cbn [forallb] in W. split_and. cbn [fold_left function_after] in *.
  apply IH with (3 := After); [assumption|]. clear IH After x.
  destruct (Pos.eqb_spec (changed u) f) as [E|]; [|exact B].
  destruct (sorted_update_fits params u) as (d & F); [assumption|].
  assert (A : arguments d = ss /\ result d = Some s).
  { unfold sorts_of_function in D. rewrite <- E, (fit_declared _ _ _ F) in D. destruct (result d); split; congruence. }
  destruct A as (A & Res). assert (T := true_applies env u d ts F). rewrite A in T. specialize (T L).
  assert (V := fit_change _ _ _ F). destruct (change u) as [| |t]; try exact B. rewrite Res, A in V.
  intros y [(Tp & ->)|(Not_Tp & Y)]; split; intros Test; try (exfalso; tauto).
  - cbn [comes_to]. unfold value_now at 1.
    rewrite (value_substituted P (during P M w) nobody _ _ _ (length_of_here env u ss ts L) t s V).
    change (value (during P M w) nobody (env ++ xs)) with (here env). rewrite values_of_here. reflexivity.
  - exact (B y Y).
Qed.

(** ** The state after a step is well-sorted *)

Lemma function_after_sorted : forall f ss s row us, sorts_of_function P f = Some (ss, s) ->
  Forall2 (of_sort M) ss row -> forallb (sorted_update P params) us = true ->
  forall x (before : element M -> Prop), (forall y, before y -> of_sort M s y) ->
  function_after P M w xs us f row before x -> of_sort M s x.
Proof.
  intros f ss s row us D R. induction us as [|u us IH]; intros W x before B After; [exact (B x After)|].
  cbn [forallb] in W. split_and. cbn [function_after] in After.
  apply IH with (3 := After); [assumption|]. clear IH After x.
  destruct (Pos.eqb_spec (changed u) f) as [E|]; [|exact B].
  destruct (sorted_update_fits params u) as (d & F); [assumption|].
  assert (A : arguments d = ss /\ result d = Some s).
  { unfold sorts_of_function in D. rewrite <- E, (fit_declared _ _ _ F) in D. destruct (result d); split; congruence. }
  destruct A as (A & Res).
  assert (V := fit_change _ _ _ F). destruct (change u) as [| |t]; try exact B. rewrite Res, A in V.
  intros y [(_ & ->)|(_ & Y)]; [|exact (B y Y)].
  apply (value_of_sort P (during P M w) nobody (during_interprets P M w Rigid Now)
           (matched (pattern u) ss ++ params)); [|exact V].
  apply Forall2_app; [exact (matched_sorts _ _ _ _ _ R)|exact Given].
Qed.
End One.

Lemma step_sorted : forall w a xs w', well_sorted P M w -> sorted_action P a = true ->
  Forall2 (of_sort M) (parameters a) xs -> leads_to P M w a xs w' -> well_sorted P M w'.
Proof.
  intros w a xs w' Now W G (_ & After) f ss s row F C R. unfold sorted_action in W. split_and.
  apply (function_after_sorted w Now (parameters a) xs G f ss s row (updates a) F R) with (3 := After f ss s row F C R);
    [assumption|].
  intros y ->. exact (Now f ss s row F C R).
Qed.

Theorem precondition_ok : forall w a xs w' claim,
  well_sorted P M w -> two_valued (during P M w) -> sorted_action P a = true -> sorted P [] claim = true ->
  Forall2 (of_sort M) (parameters a) xs -> leads_to P M w a xs w' ->
  (true_now P M w xs (precondition (length (parameters a)) (updates a) claim) <-> true_now P M w' [] claim).
Proof.
  intros w a xs w' claim Now Decided A S G L.
  assert (Next := step_sorted w a xs w' Now A G L). unfold sorted_action in A. split_and. destruct L as (LR & LF).
  apply (replaced_right P M w Decided w' xs (during_interprets P M w' Rigid Next)) with (env := []) (scope := []);
    [| |constructor|exact S].
  - intros env f ss s ts F R. unfold function_then. simpl function. destruct (changes P f) eqn:C.
    + apply (function_then_right w (parameters a) xs G f ss s env ts (updates a) F) with
        (before := fun x => x = function_now w f (map (value_now P M w (env ++ xs)) ts)).
      * rewrite (Forall2_same_length _ _ _ R), map_length. reflexivity.
      * assumption.
      * intros y ->. simpl. unfold value_now. simpl. rewrite C. reflexivity.
      * exact (LF f ss s _ F C R).
    + rewrite fold_others; [|eapply untouched_symbol; eassumption].
      simpl. unfold value_now. simpl. rewrite C. reflexivity.
  - intros env r ss ts F R. unfold relation_then. simpl relation. destruct (changes P r) eqn:C.
    + rewrite (LR r ss _ F C R). apply (relation_then_right w (parameters a) xs G r ss env ts (updates a) F).
      * rewrite (Forall2_same_length _ _ _ R), map_length. reflexivity.
      * assumption.
      * unfold true_now. simpl. rewrite C. reflexivity.
    + rewrite fold_others; [|eapply untouched_symbol; eassumption].
      unfold true_now. simpl. rewrite C. reflexivity.
Qed.

(** ** In the first state *)

Lemma initial_value_sorted : forall s v, forallb (sorted_initial P) (initially P) = true ->
  initial_value P s = Some v -> sorted_initial P (s, v) = true.
Proof.
  intros s v W I. unfold initial_value in I. rewrite forallb_forall in W.
  destruct (find (fun i => Pos.eqb (fst i) s) (initially P)) as [(s', v')|] eqn:F; [|discriminate]. injection I as ->.
  apply find_some in F. destruct F as (F & E). apply Pos.eqb_eq in E. simpl in E. subst s'. exact (W _ F).
Qed.

Theorem initially_true_ok : forall w claim, first_state P M w -> two_valued (during P M w) ->
  forallb (sorted_initial P) (initially P) = true -> sorted P [] claim = true ->
  (true_now P M w [] (initially_true P claim) <-> true_now P M w [] claim).
Proof.
  intros w claim (Now & FR & FF) Decided W S. change (@nil (element M)) with (@nil (element M) ++ []) at 1.
  apply (replaced_right P M w Decided w [] (during_interprets P M w Rigid Now)) with (env := []) (scope := []);
    [| |constructor|exact S].
  - intros env f ss s ts F R. unfold function_first. simpl function.
    destruct (changes P f) eqn:C; [|simpl; unfold value_now; simpl; rewrite C; reflexivity].
    specialize (FF f ss s _ F C R).
    destruct (initial_value P f) as [[g|t]|] eqn:I; simpl; try (unfold value_now; simpl; rewrite C; reflexivity).
    apply (initial_value_sorted f _ W) in I. unfold sorted_initial in I. simpl in I. rewrite F in I. split_and.
    rewrite FF, <- (rigid_value P M w) by assumption. unfold value_now.
    apply (value_substituted P (during P M w) nobody ss) with (s := s); [|apply is_sort_some; assumption].
    rewrite (Forall2_same_length _ _ _ R), map_length. reflexivity.
  - intros env r ss ts F R. unfold relation_first. simpl relation.
    destruct (changes P r) eqn:C; [|unfold true_now; simpl; rewrite C; reflexivity].
    rewrite (FR r ss _ F C R).
    destruct (initial_value P r) as [[g|t]|] eqn:I; [| |].
    + apply (initial_value_sorted r _ W) in I. unfold sorted_initial in I. simpl in I. rewrite F in I. split_and.
      rewrite <- (rigid_true P M w) by assumption. unfold true_now.
      apply (true_substituted P (during P M w) nobody g ss); [|assumption].
      rewrite (Forall2_same_length _ _ _ R), map_length. reflexivity.
    + unfold true_now. simpl. split; [discriminate|tauto].
    + unfold true_now. simpl. split; [discriminate|tauto].
Qed.
End Steps.
