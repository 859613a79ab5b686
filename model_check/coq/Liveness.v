(** What is certified of fair runs happens in the end: the rule of stages (L. Lamport, "The Temporal Logic of Actions",
    ACM TOPLAS 16(3), 1994, sections 5.6 and 5.7), with strong fairness. *)
From Coq Require Import List Bool PeanoNat PArith Lia.
Import ListNotations.
From Carnet Require Import
  Logic Checker Soundness Protocol Obligations Substitution Replacement Steps Induction Fairness.

(** ** What the formulas say *)

Section Read.
Variable P : protocol.
Variable M : structure.
Variable w : world M.

Lemma all_of_true : forall fs env, true_now P M w env (all_of fs) <-> List.Forall (true_now P M w env) fs.
Proof.
  intros fs env. induction fs as [|f fs IH]; [split; intros; [constructor|reflexivity]|].
  rewrite Forall_cons_iff, <- IH. destruct fs as [|g fs]; [simpl; tauto|reflexivity].
Qed.

Lemma one_of_true : forall fs env, true_now P M w env (one_of fs) <-> exists f, In f fs /\ true_now P M w env f.
Proof.
  intros fs env. induction fs as [|f fs IH]; [split; [discriminate|intros (f & [] & _)]|].
  assert (L : true_now P M w env (one_of (f :: fs)) <-> true_now P M w env f \/ true_now P M w env (one_of fs)).
  { destruct fs as [|g fs]; [|reflexivity]. unfold true_now. simpl.
    split; [auto|intros [T|T]; [exact T|discriminate]]. }
  rewrite L, IH. split.
  - intros [T|(g & I & T)]; [exists f; simpl; auto|exists g; simpl; auto].
  - intros (g & [<-|I] & T); [auto|right; exists g; auto].
Qed.

Lemma some_true : forall ss f env, true_now P M w env (some ss f) <->
  exists xs, Forall2 (of_sort M) ss xs /\ true_now P M w (rev xs ++ env) f.
Proof.
  intros ss f. induction ss as [|s ss IH]; intros env; split.
  - intros T. exists []. split; [constructor|exact T].
  - intros (xs & X & T). inversion X; subst. exact T.
  - intros (x & S & T). destruct (proj1 (IH (x :: env)) T) as (xs & X & T').
    exists (x :: xs). split; [constructor; assumption|]. simpl. rewrite <- app_assoc. exact T'.
  - intros (xs & X & T). inversion X as [|s' x ss' xs' S X']; subst. exists x. split; [exact S|].
    apply IH. exists xs'. split; [exact X'|]. simpl in T. rewrite <- app_assoc in T. exact T.
Qed.

Lemma values_turned : forall xs : list (element M),
  map (value_now P M w (rev xs)) (turned (length xs)) = xs.
Proof.
  intros xs. unfold turned. rewrite map_map, map_rev.
  assert (N := nth_places _ (stray M) [] (rev xs)). simpl in N. rewrite rev_length in N.
  change (rev (map (fun k => nth k (rev xs) (stray M)) (seq 0 (length xs))) = xs).
  rewrite N. apply rev_involutive.
Qed.

Lemma pairs_either : forall A (xs : list A) i j, In i xs -> In j xs -> i <> j ->
  In (i, j) (pairs xs) \/ In (j, i) (pairs xs).
Proof.
  intros A xs i j. induction xs as [|x xs IH]; intros I J D; [destruct I|]. simpl.
  destruct I as [<-|I], J as [<-|J].
  - contradiction.
  - left. apply in_or_app. left. apply in_map. exact J.
  - right. apply in_or_app. left. apply in_map. exact I.
  - destruct (IH I J D) as [H|H]; [left|right]; apply in_or_app; right; exact H.
Qed.

Lemma drawn_apart_differ : forall a xs, Forall2 (of_sort M) (parameters a) xs ->
  List.Forall (true_now P M w xs) (drawn_apart a) ->
  forall i j s, In i (drawn a) -> In j (drawn a) -> i <> j ->
  nth_error (parameters a) i = Some s -> nth_error (parameters a) j = Some s -> nth_error xs i <> nth_error xs j.
Proof.
  intros a xs X F i j s I J D Si Sj E. rewrite Forall_forall in F.
  assert (K : forall k l, In (k, l) (pairs (drawn a)) -> k <> l -> nth_error (parameters a) k = Some s ->
    nth_error (parameters a) l = Some s -> nth_error xs k <> nth_error xs l).
  { intros k l Pr Df Sk Sl Eq. apply (F (Not (Equal (Bound k) (Bound l)))).
    - unfold drawn_apart. apply in_map_iff. exists (k, l). split; [reflexivity|]. apply filter_In.
      split; [exact Pr|]. unfold one_sort. simpl. rewrite Sk, Sl, Pos.eqb_refl, andb_true_r.
      apply negb_true_iff, Nat.eqb_neq. exact Df.
    - simpl. rewrite <- !nth_default_eq. unfold nth_default. rewrite Eq. reflexivity. }
  destruct (pairs_either _ _ i j I J D) as [Pr|Pr].
  - exact (K i j Pr D Si Sj E).
  - exact (K j i Pr (not_eq_sym D) Sj Si (eq_sym E)).
Qed.

Lemma enabled_read : forall a xs, Forall2 (of_sort M) (parameters a) xs ->
  (enabled P M w a xs <-> List.Forall (true_now P M w xs) (guards a ++ drawn_apart a)).
Proof.
  intros a xs X. rewrite Forall_app. split.
  - intros E. split; [apply Forall_forall; exact (proj1 (proj2 E))|exact (enabled_drawn_apart P M w a xs E)].
  - intros (G & D). split; [exact X|]. split; [apply Forall_forall; exact G|].
    exact (drawn_apart_differ a xs X D).
Qed.
End Read.

Lemma sorted_all_of : forall P scope fs, forallb (sorted P scope) fs = true -> sorted P scope (all_of fs) = true.
Proof.
  intros P scope fs H. induction fs as [|f fs IH]; [reflexivity|]. simpl in H. split_and.
  destruct fs as [|g fs]; [assumption|]. cbn [all_of sorted]. apply andb_true_iff. split; [assumption|]. auto.
Qed.

Lemma drawn_apart_sorted : forall P a, forallb (sorted P (parameters a)) (drawn_apart a) = true.
Proof.
  intros P a. apply forallb_forall. intros f I. unfold drawn_apart in I. apply in_map_iff in I.
  destruct I as ((i, j) & <- & I). apply filter_In in I. destruct I as (_ & One). unfold one_sort in One. simpl in One.
  apply andb_true_iff in One as [_ One]. simpl.
  destruct (nth_error (parameters a) i) as [s|]; [|discriminate].
  destruct (nth_error (parameters a) j) as [s'|]; [|discriminate].
  simpl. apply Pos.eqb_eq in One. subst s'. apply Pos.eqb_refl.
Qed.

Lemma possible_read : forall P M (w : world M) a, sorted_action P a = true ->
  (true_now P M w [] (possible a) <-> exists xs, enabled P M w a xs).
Proof.
  intros P M w a S. unfold sorted_action in S. split_and.
  assert (B : sorted P (parameters a) (all_of (guards a ++ drawn_apart a)) = true).
  { apply sorted_all_of. rewrite forallb_app. apply andb_true_iff. split; [assumption|apply drawn_apart_sorted]. }
  assert (K : forall xs, Forall2 (of_sort M) (parameters a) xs ->
    (true_now P M w (rev xs ++ []) (substitute (turned (length (parameters a))) (all_of (guards a ++ drawn_apart a)))
     <-> enabled P M w a xs)).
  { intros xs X. rewrite app_nil_r. assert (L := Forall2_same_length _ _ _ X). unfold true_now.
    rewrite (true_substituted P (during P M w) (nothing_named M) _ (parameters a) _ _); [|
      unfold turned; rewrite map_length, rev_length, seq_length; reflexivity|exact B].
    rewrite L. change (map (value (during P M w) (nothing_named M) (rev xs)) (turned (length xs)))
      with (map (value_now P M w (rev xs)) (turned (length xs))).
    rewrite values_turned, (enabled_read P M w a xs X). exact (all_of_true P M w _ xs). }
  unfold possible. rewrite some_true. split.
  - intros (xs & X & T). exists xs. exact (proj1 (K xs X) T).
  - intros (xs & E). exists xs. split; [exact (proj1 E)|]. exact (proj2 (K xs (proj1 E)) E).
Qed.

(** ** The rule *)

Lemma others_from_in : forall live f acts i q a b, nth_error acts q = Some a ->
  In b (if which f =? i + q then rest f a else parts live (i + q) a) -> In b (others_from live i f acts).
Proof.
  intros live f acts. induction acts as [|a0 acts IH]; intros i q a b N I; [destruct q; discriminate|].
  simpl. apply in_or_app. destruct q as [|q]; simpl in N.
  - left. injection N as ->. rewrite Nat.add_0_r in I. exact I.
  - right. apply (IH (S i) q a b N). replace (S i + q) with (i + S q) by lia. exact I.
Qed.

Definition is_first (first : bool) {A} (pre : list A) : bool := match pre with [] => first | _ => false end.

Lemma first_or_not : forall A (pre : list A), pre = [] \/ is_first true pre = false.
Proof. intros A [|x pre]; auto. Qed.

Section Rule.
Variable P : protocol.
Variable claims : list formula.
Variable live : liveness.
Variable stages : list (fairness * action).
Hypothesis Stated : stated_of_liveness P claims live stages = true.
Hypothesis Staged : stages_of P (fair live) = Some stages.
Hypothesis Refuted : forall o, In o (conditions P claims live stages) -> contradictory (whole P) o.

Lemma stays_in : forall pre first f a more,
  In (leads P claims a (at_stage live a (map snd more)) (beyond live (map snd more)))
     (moves P claims live first (pre ++ (f, a) :: more)).
Proof.
  intros pre. induction pre as [|(g, b) pre IH]; intros first f a more; [left; reflexivity|].
  simpl. right. apply in_or_app. right. apply IH.
Qed.

Lemma back_in : forall pre first f a more b, is_first first pre || strongly f = false -> In b (others P live f) ->
  In (leads P claims b (at_stage live a (map snd more)) (beyond live (a :: map snd more)))
     (moves P claims live first (pre ++ (f, a) :: more)).
Proof.
  intros pre. induction pre as [|(g, c) pre IH]; intros first f a more b F I.
  - simpl in F. simpl. rewrite F. right. apply in_or_app. left.
    apply (in_map (fun b => leads P claims b (at_stage live a (map snd more)) (beyond live (a :: map snd more)))).
    exact I.
  - simpl. right. apply in_or_app. right. apply IH; [|exact I].
    destruct pre; simpl in *; exact F.
Qed.

Lemma move_refuted : forall o, In o (moves P claims live true stages) -> contradictory (whole P) o.
Proof. intros o I. apply Refuted. right. apply in_or_app. left. exact I. Qed.

Lemma formed_of_liveness : well_stated P [] [] claims = true.
Proof. unfold stated_of_liveness in Stated. split_and. assumption. Qed.
Lemma trigger_sorted : sorted P [] (trigger live) = true.
Proof. unfold stated_of_liveness in Stated. split_and. assumption. Qed.
Lemma response_sorted : sorted P [] (response live) = true.
Proof. unfold stated_of_liveness in Stated. split_and. assumption. Qed.
Lemma stage_sorted : forall f a, In (f, a) stages ->
  sorted_action P a = true /\ (forall b, In b (others P live f) -> sorted_action P b = true) /\
  sorted P [] (possible a) = true.
Proof.
  intros f a I. unfold stated_of_liveness in Stated. split_and.
  match goal with H : forallb _ stages = true |- _ => rewrite forallb_forall in H; specialize (H _ I); simpl in H end.
  split_and. split; [assumption|]. split; [|assumption]. apply forallb_forall. assumption.
Qed.

Lemma waiting_sorted : sorted P [] (waiting live) = true.
Proof. simpl. rewrite trigger_sorted, response_sorted. reflexivity. Qed.

Lemma possible_sorted : forall sts, (forall st, In st sts -> In st stages) ->
  forallb (sorted P []) (map possible (map snd sts)) = true.
Proof.
  intros sts K. apply forallb_forall. intros f I. rewrite map_map in I. apply in_map_iff in I.
  destruct I as ((g, a) & <- & I). exact (proj2 (proj2 (stage_sorted g a (K _ I)))).
Qed.

Lemma at_stage_sorted : forall a more, sorted P [] (possible a) = true -> (forall st, In st more -> In st stages) ->
  sorted P [] (at_stage live a (map snd more)) = true.
Proof.
  intros a more A K. apply sorted_all_of. cbn [forallb]. rewrite waiting_sorted, A. simpl.
  assert (H := possible_sorted more K). rewrite map_map in H. rewrite map_map. rewrite forallb_forall in *.
  intros f I. apply in_map_iff in I. destruct I as (st & <- & I). simpl. apply H. apply in_map_iff. exists st. auto.
Qed.

Lemma sorted_one_of : forall fs, forallb (sorted P []) fs = true -> sorted P [] (one_of fs) = true.
Proof.
  intros fs H. induction fs as [|f fs IH]; [reflexivity|]. simpl in H. split_and.
  destruct fs as [|g fs]; [assumption|]. cbn [one_of sorted]. apply andb_true_iff. split; [assumption|]. auto.
Qed.

Lemma beyond_sorted : forall sts, (forall st, In st sts -> In st stages) ->
  sorted P [] (beyond live (map snd sts)) = true.
Proof.
  intros sts K. apply sorted_one_of. cbn [forallb]. rewrite response_sorted. simpl. exact (possible_sorted sts K).
Qed.

Section OnARun.
Variable M : structure.
Hypothesis Rigid : interprets (rigid P) M.
Hypothesis Truths : List.Forall (true_in M (nothing_named M) []) (axioms P).
Hypothesis Claimed : forall w, reachable P M w -> forall c, In c claims -> true_now P M w [] c.
Variable s : nat -> world M.
Hypothesis Run : is_run P M s.
Hypothesis Fair : forall f, In f (fair live) -> fairly P M s f.

Lemma assumed_of_run : List.Forall (true_in M (nothing_named M) []) (axioms P ++ []).
Proof. rewrite app_nil_r. exact Truths. Qed.

Lemma run_reaches : forall i, reachable P M (s i).
Proof.
  induction i as [|i IH].
  - exact (at_first P M (s 0) (run_decided _ _ _ Run 0) (run_begins _ _ _ Run)).
  - destruct (run_goes_on _ _ _ Run i) as [E|G].
    + rewrite E. exact IH.
    + exact (by_step P M (s i) (s (S i)) IH (run_decided _ _ _ Run (S i)) G).
Qed.

Lemma run_sorted : forall i, well_sorted P M (s i).
Proof.
  induction i as [|i IH]; [exact (proj1 (run_begins _ _ _ Run))|].
  destruct (run_goes_on _ _ _ Run i) as [E|(a & xs & A & E & L)]; [rewrite E; exact IH|].
  apply (step_sorted P M Rigid (s i) a xs (s (S i)) IH); [|exact (proj1 E)|exact L].
  exact (action_sorted P [] [] claims formed_of_liveness a A).
Qed.

Lemma claimed_now : forall i xs, List.Forall (true_now P M (s i) xs) claims.
Proof.
  intros i xs. apply Forall_forall. intros c C.
  apply (true_closed P (during P M (s i))).
  - exact (claim_sorted P [] [] claims formed_of_liveness c C).
  - exact (Claimed (s i) (run_reaches i) c C).
Qed.

Lemma led : forall i a xs w' before after,
  sorted_action P a = true -> sorted P [] before = true -> sorted P [] after = true ->
  contradictory (whole P) (leads P claims a before after) ->
  enabled P M (s i) a xs -> leads_to P M (s i) a xs w' ->
  true_now P M (s i) [] before -> true_now P M w' [] after.
Proof.
  intros i a xs w' before after A SB SA C E L B.
  apply (precondition_ok P M Rigid (s i) a xs w' after (run_sorted i) (run_decided _ _ _ Run i) A SA (proj1 E) L).
  apply (by_contradiction P [] [] claims formed_of_liveness M Rigid assumed_of_run (s i) xs (parameters a)
           (claims ++ [before] ++ guards a ++ drawn_apart a)).
  - exact (run_sorted i).
  - exact (run_decided _ _ _ Run i).
  - exact (proj1 E).
  - unfold leads in C. simpl app in *. rewrite <- ?app_assoc. simpl app. rewrite <- ?app_assoc. exact C.
  - apply Forall_app. split; [exact (claimed_now i xs)|]. constructor.
    + apply (true_closed P (during P M (s i))); [exact SB|exact B].
    + exact (proj1 (enabled_read P M (s i) a xs (proj1 E)) E).
Qed.

(** From [n] on it is waited for, and in vain. *)
Variable n : nat.
Hypothesis Begun : true_now P M (s n) [] (trigger live).
Hypothesis Vain : forall i, n <= i -> ~ true_now P M (s i) [] (response live).

Lemma waits_on : forall i, n <= i -> true_now P M (s i) [] (waiting live).
Proof.
  intros i I. induction I as [|i I IH].
  - split; [exact Begun|exact (Vain n (le_n n))].
  - split; [|exact (Vain (S i) (le_S _ _ I))].
    destruct (run_goes_on _ _ _ Run i) as [E|(a & xs & A & E & L)]; [rewrite E; exact (proj1 IH)|].
    assert (W : true_now P M (s (S i)) [] (Or (trigger live) (response live))).
    { apply (led i a xs (s (S i)) (waiting live) (Or (trigger live) (response live))); auto.
      - exact (action_sorted P [] [] claims formed_of_liveness a A).
      - exact waiting_sorted.
      - cbn [sorted]. rewrite trigger_sorted, response_sorted. reflexivity.
      - apply Refuted. right. apply in_or_app. right.
        exact (in_map (fun a => leads P claims a (waiting live) (Or (trigger live) (response live))) _ a A). }
    destruct W as [W|W]; [exact W|]. destruct (Vain (S i) (le_S _ _ I) W).
Qed.

(** Stages of which none is possible any more. *)
Definition over (m : nat) (sts : list (fairness * action)) : Prop :=
  forall i, m <= i -> forall f a, In (f, a) sts -> ~ true_now P M (s i) [] (possible a).

Lemma stage_of_fair : forall fs sts, stages_of P fs = Some sts ->
  forall f a, In (f, a) sts -> In f fs /\ fair_part P f = Some a.
Proof.
  intros fs. induction fs as [|g fs IH]; intros sts E f a I; simpl in E.
  - injection E as <-. destruct I.
  - destruct (fair_part P g) as [b|] eqn:G; [|discriminate]. destruct (stages_of P fs) as [more|]; [|discriminate].
    injection E as <-. destruct I as [I|I].
    + injection I as <- <-. split; [left; reflexivity|exact G].
    + destruct (IH more eq_refl f a I) as (F & A). split; [right; exact F|exact A].
Qed.

Lemma some_stage : forall i, n <= i -> exists f a, In (f, a) stages /\ true_now P M (s i) [] (possible a).
Proof.
  intros i I.
  assert (T : true_now P M (s i) [] (one_of (map (fun st => possible (snd st)) stages))).
  { apply (by_contradiction P [] [] claims formed_of_liveness M Rigid assumed_of_run (s i) [] []
             (claims ++ [waiting live])).
    - exact (run_sorted i).
    - exact (run_decided _ _ _ Run i).
    - constructor.
    - assert (C := Refuted _ (or_introl eq_refl)). simpl app in *. rewrite <- ?app_assoc. exact C.
    - apply Forall_app. split; [exact (claimed_now i [])|]. constructor; [exact (waits_on i I)|constructor]. }
  apply one_of_true in T. destruct T as (g & G & T). apply in_map_iff in G. destruct G as ((f, a) & <- & G).
  exists f, a. split; [exact G|exact T].
Qed.

Section Stage.
Variable pre more : list (fairness * action).
Variable f : fairness.
Variable a : action.
Hypothesis Here : stages = pre ++ (f, a) :: more.
Variable m : nat.
Hypothesis Late : n <= m.
Hypothesis Over : over m more.

Lemma stage_here : In (f, a) stages.
Proof. rewrite Here. apply in_or_app. right. left. reflexivity. Qed.
Lemma more_here : forall st, In st more -> In st stages.
Proof. intros st I. rewrite Here. apply in_or_app. right. right. exact I. Qed.

Lemma at_this_stage : forall i, m <= i -> true_now P M (s i) [] (possible a) ->
  true_now P M (s i) [] (at_stage live a (map snd more)).
Proof.
  intros i I T. apply all_of_true. constructor; [apply waits_on; lia|]. constructor; [exact T|].
  rewrite map_map. apply Forall_forall. intros g G. apply in_map_iff in G. destruct G as ((h, b) & <- & G).
  exact (Over i I h b G).
Qed.

Lemma not_beyond : forall i w', n <= i -> s i = w' -> m <= i -> ~ true_now P M w' [] (beyond live (map snd more)).
Proof.
  intros i w' I <- I' T. apply one_of_true in T. destruct T as (g & [<-|G] & T); [exact (Vain i I T)|].
  rewrite map_map in G. apply in_map_iff in G. destruct G as ((h, b) & <- & G). exact (Over i I' h b G T).
Qed.

Lemma stays_led : forall i xs w', m <= i -> enabled P M (s i) a xs -> leads_to P M (s i) a xs w' ->
  true_now P M w' [] (beyond live (map snd more)).
Proof.
  intros i xs w' I E L. destruct (stage_sorted f a stage_here) as (SA & _ & SP).
  apply (led i a xs w' (at_stage live a (map snd more))); auto.
  - exact (at_stage_sorted a more SP more_here).
  - exact (beyond_sorted more more_here).
  - apply move_refuted. rewrite Here. apply stays_in.
  - apply at_this_stage; [exact I|]. apply possible_read; [exact SA|]. exists xs. exact E.
Qed.

Lemma never_taken : forall i, m <= i -> forall xs, enabled P M (s i) a xs -> ~ leads_to P M (s i) a xs (s (S i)).
Proof.
  intros i I xs E L. apply (not_beyond (S i) (s (S i))); [lia|reflexivity|lia|]. exact (stays_led i xs (s (S i)) I E L).
Qed.

Lemma open_if_possible : forall i, m <= i -> true_now P M (s i) [] (possible a) -> is_open P M a (s i).
Proof.
  intros i I T. destruct (stage_sorted f a stage_here) as (SA & _ & _).
  apply possible_read in T; [|exact SA]. destruct T as (xs & E). exists xs. split; [exact E|]. intros L.
  apply (not_beyond i (s i)); [lia|reflexivity|exact I|]. exact (stays_led i xs (s i) I E L).
Qed.

(** A step of another part than the own one keeps the stage possible, if that was proved. *)
Lemma back_led : is_first true pre || strongly f = false -> forall i b xs, m <= i -> In b (others P live f) ->
  true_now P M (s i) [] (possible a) -> enabled P M (s i) b xs -> leads_to P M (s i) b xs (s (S i)) ->
  true_now P M (s (S i)) [] (possible a).
Proof.
  intros B i b xs I O T E L. destruct (stage_sorted f a stage_here) as (SA & SO & SP).
  assert (K : forall st, In st ((f, a) :: more) -> In st stages)
    by (intros st [<-|J]; [exact stage_here|exact (more_here st J)]).
  assert (R : true_now P M (s (S i)) [] (beyond live (a :: map snd more))).
  { apply (led i b xs (s (S i)) (at_stage live a (map snd more))); auto.
    - exact (at_stage_sorted a more SP more_here).
    - exact (beyond_sorted ((f, a) :: more) K).
    - apply move_refuted. rewrite Here. apply back_in; assumption.
    - apply at_this_stage; assumption. }
  apply one_of_true in R. destruct R as (g & [<-|[<-|G]] & R).
  - destruct (Vain (S i) ltac:(lia) R).
  - exact R.
  - rewrite map_map in G. apply in_map_iff in G. destruct G as ((h, c) & <- & G).
    destruct (Over (S i) ltac:(lia) h c G R).
Qed.

Lemma fair_here : In f (fair live) /\ fair_part P f = Some a.
Proof. exact (stage_of_fair _ _ Staged f a stage_here). Qed.

Lemma leads_limited : forall w b c xs w', leads_to P M w b xs w' -> leads_to P M w (limited b c) xs w'.
Proof. intros w b c xs w' L. exact L. Qed.

Lemma enabled_limited : forall w b c xs, enabled P M w b xs -> true_now P M w xs c -> enabled P M w (limited b c) xs.
Proof.
  intros w b c xs (X & G & D) T. split; [exact X|]. split; [|exact D].
  intros g I. apply in_app_or in I. destruct I as [I|[<-|[]]]; [exact (G g I)|exact T].
Qed.

Lemma still_possible : is_first true pre || strongly f = false -> forall i, m <= i ->
  true_now P M (s i) [] (possible a) -> true_now P M (s (S i)) [] (possible a).
Proof.
  intros B i I T. destruct (run_goes_on _ _ _ Run i) as [E|(b & xs & A & E & L)]; [rewrite E; exact T|].
  apply In_nth_error in A. destruct A as (q & N).
  assert (Back := back_led B i). destruct fair_here as (_ & F). unfold fair_part in F.
  assert (Decide := run_decided _ _ _ Run i (nothing_named M) xs).
  assert (Other : forall c, In c (if which f =? 0 + q then rest f b else parts live (0 + q) b) ->
    In c (others P live f))
    by (intros c; exact (others_from_in live f (actions P) 0 q b c N)).
  simpl in Other. destruct (Nat.eqb_spec (which f) q) as [W|W].
  - rewrite W, N in F. unfold rest in Other. destruct (meant f) as [g|].
    + injection F as F. destruct (Decide g) as [G|G].
      * assert (E' := enabled_limited _ _ _ _ E G). assert (L' := leads_limited _ _ g _ _ L). rewrite F in E', L'.
        destruct (never_taken i I xs E' L').
      * apply (Back (limited b (Not g)) xs I (Other _ (or_introl eq_refl)) T); [|exact L].
        apply enabled_limited; [exact E|exact G].
    + injection F as F. rewrite F in E, L. destruct (never_taken i I xs E L).
  - unfold parts in Other. destruct (find (fun f0 => which f0 =? q) (fair live)) as [h|].
    + destruct (meant h) as [g|].
      * destruct (Decide g) as [G|G].
        -- apply (Back (limited b g) xs I (Other _ (or_introl eq_refl)) T); [|exact L].
           apply enabled_limited; [exact E|exact G].
        -- apply (Back (limited b (Not g)) xs I (Other _ (or_intror (or_introl eq_refl))) T); [|exact L].
           apply enabled_limited; [exact E|exact G].
      * exact (Back b xs I (Other _ (or_introl eq_refl)) T E L).
    + exact (Back b xs I (Other _ (or_introl eq_refl)) T E L).
Qed.

Lemma never_is_taken : forall i, m <= i -> ~ is_taken P M a (s i) (s (S i)).
Proof. intros i I (xs & E & L & _). exact (never_taken i I xs E L). Qed.

Lemma stage_over : ~ ~ exists k, m <= k /\ over k ((f, a) :: more).
Proof.
  intros No. destruct fair_here as (F & A). assert (T := Fair f F a A).
  assert (Made : forall k, m <= k -> (forall i, k <= i -> ~ true_now P M (s i) [] (possible a)) -> False).
  { intros k K H. apply No. exists k. split; [exact K|]. intros i I g b [J|J].
    - injection J as _ <-. exact (H i I).
    - exact (Over i ltac:(lia) g b J). }
  destruct (strongly f) eqn:St.
  - apply (T m never_is_taken). intros k K H. apply (Made k K). intros i I Q.
    exact (H i I (open_if_possible i ltac:(lia) Q)).
  - assert (Persists : forall i, m <= i -> true_now P M (s i) [] (possible a) ->
      forall j, i <= j -> true_now P M (s j) [] (possible a)).
    { destruct (first_or_not _ pre) as [First|First].
      - intros i I _ j J. destruct (some_stage j ltac:(lia)) as (g & b & G & Q).
        rewrite Here, First in G. destruct G as [G|G]; [injection G as _ G; rewrite G; exact Q|].
        destruct (Over j ltac:(lia) g b G Q).
      - intros i I Q j J. induction J as [|j J IH]; [exact Q|]. apply still_possible; [|lia|exact IH].
        rewrite First. exact St. }
    apply (Made m (le_n m)). intros i I Q. apply (T i). intros j J. split.
    + apply open_if_possible; [lia|]. exact (Persists i I Q j J).
    + apply never_is_taken. lia.
Qed.
End Stage.

Lemma all_over : forall sts pre, stages = pre ++ sts -> ~ ~ exists k, n <= k /\ over k sts.
Proof.
  intros sts. induction sts as [|(f, a) more IH]; intros pre E No.
  - apply No. exists n. split; [apply le_n|]. intros i I f a [].
  - apply (IH (pre ++ [(f, a)])); [rewrite <- app_assoc; exact E|]. intros (m & Late & Over).
    apply (stage_over pre more f a E m Late Over). intros (k & K & O). apply No. exists k. split; [lia|exact O].
Qed.

Lemma not_in_vain : False.
Proof.
  apply (all_over stages [] eq_refl). intros (k & K & Over).
  destruct (some_stage k K) as (f & a & I & T). exact (Over k (le_n k) f a I T).
Qed.
End OnARun.
End Rule.

Theorem certified_in_the_end : forall P threat claims live certificates,
  certified_of_liveness P claims live certificates = true ->
  (forall c, In c claims -> always P threat c) -> in_the_end P threat live.
Proof.
  intros P threat claims live certificates C Claimed M Rigid Assumed s Run Fair n Begun Vain.
  unfold certified_of_liveness in C. destruct (stages_of P (fair live)) as [stages|] eqn:Staged; [|discriminate].
  apply andb_true_iff in C as [Stated Accepted].
  assert (Refuted : forall o, In o (conditions P claims live stages) -> contradictory (whole P) o).
  { intros o I. destruct (all2_in _ _ _ _ _ Accepted o I) as (r & A). exact (sound (whole P) o r A). }
  apply (not_in_vain P claims live stages Stated Staged Refuted M Rigid) with (s := s) (n := n); auto.
  - apply Forall_app in Assumed. exact (proj1 Assumed).
  - intros w R c I. exact (Claimed c I M Rigid Assumed w R).
Qed.

(** What files made from a specification use: the claims that are assumed are certified beside the conditions. *)
Corollary certified_with_its_claims : forall P threat claims certificates,
  certified P threat [] claims certificates = true ->
  forall live conditions, certified_of_liveness P claims live conditions = true -> in_the_end P threat live.
Proof.
  intros P threat claims certificates C live conditions L.
  apply (certified_in_the_end P threat claims live conditions L).
  apply (certified_always P threat [] claims certificates C). intros k [].
Qed.

(** ** For readers who accept excluded middle: the response comes *)

Theorem in_the_end_classically : (forall X : Prop, X \/ ~ X) -> forall P threat live, in_the_end P threat live ->
  forall M, interprets (rigid P) M -> List.Forall (true_in M (nothing_named M) []) (axioms P ++ threat) ->
  forall s, is_run P M s -> (forall f, In f (fair live) -> fairly P M s f) ->
  forall n, true_now P M (s n) [] (trigger live) -> exists i, n <= i /\ true_now P M (s i) [] (response live).
Proof.
  intros Middle P threat live E M Rigid Assumed s Run Fair n T.
  destruct (Middle (exists i, n <= i /\ true_now P M (s i) [] (response live))) as [H|H]; [exact H|exfalso].
  apply (E M Rigid Assumed s Run Fair n T). intros i I R. apply H. exists i. split; assumption.
Qed.
