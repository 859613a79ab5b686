(** From obligations to every reachable state: the theorems that Carnet's certificates prove. *)
From Coq Require Import List Bool PeanoNat PArith Lia.
Import ListNotations.
From Carnet Require Import Logic Checker Soundness Protocol Obligations Substitution Replacement Steps.

(** ** Fresh values *)

Lemma pairs_in : forall A (xs : list A) i j, In (i, j) (pairs xs) -> In i xs /\ In j xs.
Proof.
  intros A xs i j. induction xs as [|x xs IH]; simpl; [tauto|]. intros H. apply in_app_or in H. destruct H as [H|H].
  - apply in_map_iff in H. destruct H as (y & E & Y). injection E as -> ->. tauto.
  - tauto.
Qed.

(** ** One layer: claims that are proved together *)

Section Layer.
Variable P : protocol.
Variable threat known claims : list formula.
Hypothesis Stated : well_stated P threat known claims = true.

Lemma formed : well_formed P = true.
Proof. unfold well_stated in Stated. split_and. assumption. Qed.

Lemma initially_sorted : forallb (sorted_initial P) (initially P) = true.
Proof. generalize formed. unfold well_formed. intros F. split_and. assumption. Qed.

Lemma action_sorted : forall a, In a (actions P) -> sorted_action P a = true.
Proof. generalize formed. unfold well_formed. intros F. split_and. apply forallb_forall. assumption. Qed.

Lemma assumption_sorted : forall f, In f (axioms P ++ threat) -> sorted_assumption P f = true.
Proof.
  generalize formed. unfold well_formed. intros F. unfold well_stated in Stated. split_and. apply forallb_forall.
  rewrite forallb_app. apply andb_true_iff. split; assumption.
Qed.

Lemma claim_sorted : forall f, In f (known ++ claims) -> sorted P [] f = true.
Proof.
  unfold well_stated in Stated. split_and. apply forallb_forall. rewrite forallb_app. apply andb_true_iff.
  split; assumption.
Qed.

Section Structure.
Variable M : structure.
Hypothesis Rigid : interprets (rigid P) M.
Hypothesis Assumed : List.Forall (true_in M (nothing_named M) []) (axioms P ++ threat).

(** What is assumed of structures holds in every state, and whatever the parameters are. *)
Lemma assumed_now : forall w xs, List.Forall (true_now P M w xs) (axioms P ++ threat).
Proof.
  intros w xs. rewrite Forall_forall in *. intros f I.
  assert (S := assumption_sorted f I). unfold sorted_assumption in S. split_and.
  apply (true_closed P (during P M w)); [assumption|].
  apply (rigid_true P M w); auto.
Qed.

(** A contradiction is what the negation of a true formula leads to. *)
Lemma by_contradiction : forall w xs sorts hyps f,
  well_sorted P M w -> two_valued (during P M w) -> Forall2 (of_sort M) sorts xs ->
  contradictory (whole P) (Build_obligation sorts (axioms P ++ threat ++ hyps ++ [Not f])) ->
  List.Forall (true_now P M w xs) hyps -> true_now P M w xs f.
Proof.
  intros w xs sorts hyps f Now Decided X C H.
  destruct (Decided (nothing_named M) xs f) as [T|F]; [exact T|exfalso].
  apply (C _ (during_interprets P M w Rigid Now) Decided (nothing_named M) xs X). simpl.
  rewrite app_assoc. apply Forall_app. split; [exact (assumed_now w xs)|].
  apply Forall_app. split; [exact H|]. constructor; [exact F|constructor].
Qed.

Definition all_hold (w : world M) (fs : list formula) : Prop := forall f, In f fs -> true_now P M w [] f.

Hypothesis Refuted : forall o, In o (obligations P threat known claims) -> contradictory (whole P) o.

Lemma holds_at_first : forall w c, first_state P M w -> two_valued (during P M w) -> In c claims ->
  true_now P M w [] c.
Proof.
  intros w c F Decided C.
  apply (initially_true_ok P M Rigid w c F Decided initially_sorted (claim_sorted c (in_or_app _ _ _ (or_intror C)))).
  apply (by_contradiction w [] [] []); [exact (proj1 F)|exact Decided|constructor| |constructor].
  apply Refuted. unfold obligations. apply in_or_app. left. exact (in_map (at_start P threat) claims c C).
Qed.

Lemma enabled_drawn_apart : forall w a xs, enabled P M w a xs -> List.Forall (true_now P M w xs) (drawn_apart a).
Proof.
  intros w a xs (X & _ & D). apply Forall_forall. intros f F. unfold drawn_apart in F.
  apply in_map_iff in F. destruct F as ((i, j) & <- & F). apply filter_In in F. destruct F as (F & One).
  apply pairs_in in F. destruct F as (I & J). unfold one_sort in One. simpl in One.
  apply andb_true_iff in One as [Differ One]. apply negb_true_iff, Nat.eqb_neq in Differ.
  destruct (nth_error (parameters a) i) as [s|] eqn:Si; [|discriminate].
  destruct (nth_error (parameters a) j) as [s'|] eqn:Sj; [|discriminate].
  apply Pos.eqb_eq in One. subst s'.
  assert (L := Forall2_same_length _ _ _ X). simpl. intros E. apply (D i j s I J Differ Si Sj).
  apply in_scope in Si. apply in_scope in Sj.
  rewrite (nth_error_nth' xs (stray M)), (nth_error_nth' xs (stray M)) by lia. congruence.
Qed.

Lemma kept : forall w a xs w' c, well_sorted P M w -> two_valued (during P M w) ->
  In a (actions P) -> enabled P M w a xs -> leads_to P M w a xs w' -> all_hold w (known ++ claims) ->
  In c claims -> true_now P M w' [] c.
Proof.
  intros w a xs w' c Now Decided A E L H C. assert (E' := E). destruct E' as (X & G & _).
  assert (S := claim_sorted c (in_or_app _ _ _ (or_intror C))).
  apply (precondition_ok P M Rigid w a xs w' c Now Decided (action_sorted a A) S X L).
  destruct (untouched a c) eqn:U.
  - apply same_formula_equal in U. rewrite U. apply (true_closed P (during P M w)); [exact S|].
    apply H. apply in_or_app. right. exact C.
  - apply (by_contradiction w xs (parameters a) (known ++ claims ++ guards a ++ drawn_apart a)); auto.
    + rewrite <- !app_assoc. apply Refuted. unfold obligations. apply in_or_app. right. apply in_flat_map.
      exists a. split; [exact A|]. apply (in_map (kept_by P threat known claims a)). apply filter_In.
      rewrite U. split; [exact C|reflexivity].
    + rewrite app_assoc. apply Forall_app. split; [|apply Forall_app; split].
      * apply Forall_forall. intros f I. apply (true_closed P (during P M w)); [exact (claim_sorted f I)|exact (H f I)].
      * apply Forall_forall. exact G.
      * exact (enabled_drawn_apart w a xs E).
Qed.

Hypothesis Known : forall w, reachable P M w -> all_hold w known.

Lemma reachable_holds : forall w, reachable P M w ->
  well_sorted P M w /\ two_valued (during P M w) /\ all_hold w claims.
Proof.
  intros w R. induction R as [w Decided F|w w' R (Now & Decided & H) Decided' (a & xs & A & E & L)].
  - split; [exact (proj1 F)|]. split; [exact Decided|]. intros c C. exact (holds_at_first w c F Decided C).
  - split; [exact (step_sorted P M Rigid w a xs w' Now (action_sorted a A) (proj1 E) L)|].
    split; [exact Decided'|]. intros c C. apply (kept w a xs w' c Now Decided A E L); [|exact C].
    intros f I. apply in_app_or in I. destruct I as [I|I]; [exact (Known w R f I)|exact (H f I)].
Qed.
End Structure.

Theorem inductive_layer :
  (forall k, In k known -> always P threat k) ->
  (forall o, In o (obligations P threat known claims) -> contradictory (whole P) o) ->
  forall c, In c claims -> always P threat c.
Proof.
  intros Known Refuted c C M Rigid Assumed w R.
  assert (K : forall v, reachable P M v -> all_hold M v known)
    by (intros v V k I; exact (Known k I M Rigid Assumed v V)).
  destruct (reachable_holds M Rigid Assumed Refuted K w R) as (_ & _ & H). exact (H c C).
Qed.
End Layer.

(** ** From certificates *)

Lemma all2_in : forall A B (f : A -> B -> bool) xs ys, all2 f xs ys = true ->
  forall x, In x xs -> exists y, f x y = true.
Proof.
  intros A B f xs ys H. apply all2_Forall2 in H. induction H as [|a b xs ys E _ IH]; intros x I; [destruct I|].
  destruct I as [<-|I]; [exists b; exact E|exact (IH x I)].
Qed.

Theorem certified_always : forall P threat known claims certificates,
  certified P threat known claims certificates = true ->
  (forall k, In k known -> always P threat k) ->
  forall c, In c claims -> always P threat c.
Proof.
  intros P threat known claims certificates C Known. apply andb_true_iff in C as [Stated Accepted].
  apply (inductive_layer P threat known claims Stated Known).
  intros o I. destruct (all2_in _ _ _ _ _ Accepted o I) as (r & A). exact (sound (whole P) o r A).
Qed.

(** What holds with no threat model holds under each. *)
Theorem always_under : forall P threat claim, always P [] claim -> always P threat claim.
Proof.
  intros P threat claim A M Rigid Assumed. apply A; [exact Rigid|]. rewrite app_nil_r.
  apply Forall_app in Assumed. exact (proj1 Assumed).
Qed.

(** ** By position: what files made from a specification use *)

(** The general layer: claims and lemmas that need no threat model hold under each. *)
Corollary certified_in_general : forall P claims certificates, certified P [] [] claims certificates = true ->
  forall threat i c, nth_error claims i = Some c -> always P threat c.
Proof.
  intros P claims certificates C threat i c N. apply always_under.
  apply (certified_always P [] [] claims certificates C); [intros k []|]. exact (nth_error_In _ _ N).
Qed.

(** A threat layer: it uses claims of the general layer, [known] among them. *)
Corollary certified_under_threat : forall P claims certificates, certified P [] [] claims certificates = true ->
  forall threat known more certificates', certified P threat known more certificates' = true ->
  (forall k, In k known -> In k claims) ->
  forall i c, nth_error more i = Some c -> always P threat c.
Proof.
  intros P claims certificates C threat known more certificates' C' Known i c N.
  apply (certified_always P threat known more certificates' C'); [|exact (nth_error_In _ _ N)].
  intros k I. apply always_under. apply (certified_always P [] [] claims certificates C); [intros l []|].
  exact (Known k I).
Qed.

(** ** For readers who accept excluded middle: all states are two-valued, so that every run counts *)

Inductive reached (P : protocol) (M : structure) : world M -> Prop :=
| reached_first : forall w, first_state P M w -> reached P M w
| reached_by_step : forall w w', reached P M w -> step P M w w' -> reached P M w'.

Theorem always_classically : (forall X : Prop, X \/ ~ X) -> forall P threat claim, always P threat claim ->
  forall M, interprets (rigid P) M -> List.Forall (true_in M (nothing_named M) []) (axioms P ++ threat) ->
  forall w, reached P M w -> true_now P M w [] claim.
Proof.
  intros Middle P threat claim A M Rigid Assumed w R. apply (A M Rigid Assumed).
  assert (Two : forall v, two_valued (during P M v)) by (intros v named env f; apply Middle).
  induction R as [w F|w w' _ IH S]; [exact (at_first P M w (Two w) F)|exact (by_step P M w w' IH (Two w') S)].
Qed.
