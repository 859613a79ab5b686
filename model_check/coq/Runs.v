(** On a structure with finitely many elements, truth, steps and runs are computed: that theorems are not empty is shown
    by running a protocol. *)
From Coq Require Import List Bool PeanoNat PArith.
Import ListNotations.
From Carnet Require Import Logic Checker Groundwork Protocol Obligations Substitution Replacement Steps.

(** ** Truth *)

Section Decide.
Variable M : structure.
Variable listed : sort -> list (element M).
Variable same : element M -> element M -> bool.
Variable related : symbol -> list (element M) -> bool.

(** The three functions say what is in each sort, what is equal, and what is related. *)
Record decides : Prop := {
  listed_right : forall s x, of_sort M s x <-> In x (listed s);
  same_right : forall x y, x = y <-> same x y = true;
  related_right : forall r row, relation M r row <-> related r row = true }.

Fixpoint holds (named : nat -> element M) (env : list (element M)) (f : formula) : bool :=
  match f with
  | Const b => b
  | Holds r ts => related r (map (value M named env) ts)
  | Equal a b => same (value M named env a) (value M named env b)
  | Not g => negb (holds named env g)
  | And g h => holds named env g && holds named env h
  | Or g h => holds named env g || holds named env h
  | Implies g h => negb (holds named env g) || holds named env h
  | Choose c g h => if holds named env c then holds named env g else holds named env h
  | Forall s g => forallb (fun x => holds named (x :: env) g) (listed s)
  | Exists s g => existsb (fun x => holds named (x :: env) g) (listed s)
  end.

Hypothesis D : decides.

Lemma holds_right : forall named f env, true_in M named env f <-> holds named env f = true.
Proof.
  intros named.
  induction f as [v|r ts|a b|g IHg|g IHg h IHh|g IHg h IHh|g IHg h IHh|c IHc g IHg h IHh|s g IHg|s g IHg];
    intros env; simpl.
  - tauto.
  - apply (related_right D).
  - apply (same_right D).
  - rewrite IHg. destruct (holds named env g); intuition discriminate.
  - rewrite IHg, IHh. symmetry. apply andb_true_iff.
  - rewrite IHg, IHh. symmetry. apply orb_true_iff.
  - rewrite IHg, IHh. destruct (holds named env g); simpl; intuition discriminate.
  - rewrite IHc, IHg, IHh. destruct (holds named env c); intuition discriminate.
  - rewrite forallb_forall. split; intros H x X; apply IHg, H, (listed_right D), X.
  - rewrite existsb_exists. split; intros (x & X & H); exists x; (split; [apply (listed_right D), X|apply IHg, H]).
Qed.

Lemma finite_two_valued : two_valued M.
Proof.
  intros named env f. rewrite holds_right. destruct (holds named env f); [left; reflexivity|right; discriminate].
Qed.
End Decide.

(** ** Runs *)

Section Run.
Variable P : protocol.
Variable M : structure.
Variable listed : sort -> list (element M).
Variable same : element M -> element M -> bool.
Variable related : symbol -> list (element M) -> bool.
Hypothesis D : decides M listed same related.
Notation nobody := (nothing_named M).

(** A state that can be computed with. *)
Record table := { function_at : symbol -> list (element M) -> element M;
                  relation_at : symbol -> list (element M) -> bool }.
Definition world_of (t : table) : world M := World M (function_at t) (fun r row => relation_at t r row = true).

Definition related_now (t : table) (r : symbol) : list (element M) -> bool :=
  if changes P r then relation_at t r else related r.
Definition holds_now (t : table) : list (element M) -> formula -> bool :=
  holds (during P M (world_of t)) listed same (related_now t) nobody.

Lemma decides_now : forall t, decides (during P M (world_of t)) listed same (related_now t).
Proof.
  intros t. constructor; simpl.
  - exact (listed_right _ _ _ _ D).
  - exact (same_right _ _ _ _ D).
  - intros r row. unfold related_now. destruct (changes P r); [reflexivity|exact (related_right _ _ _ _ D r row)].
Qed.

Lemma holds_now_right : forall t xs f, true_now P M (world_of t) xs f <-> holds_now t xs f = true.
Proof. intros t xs f. exact (holds_right _ _ _ _ (decides_now t) nobody f xs). Qed.

(** *** Steps *)

Section Step.
Variable t : table.
Variable xs : list (element M).
Notation w := (world_of t).

Fixpoint fitting_row (p : list (option term)) (row : list (element M)) : bool :=
  match p, row with
  | [], [] => true
  | None :: p', _ :: row' => fitting_row p' row'
  | Some u :: p', x :: row' => same x (value_now P M w xs u) && fitting_row p' row'
  | _, _ => false
  end.
Definition affected (u : update) (row : list (element M)) : bool :=
  fitting_row (pattern u) row && holds_now t (matched (pattern u) row ++ xs) (condition u).

Fixpoint related_after (us : list update) (r : symbol) (row : list (element M)) (before : bool) : bool :=
  match us with
  | [] => before
  | u :: us' =>
      related_after us' r row
        (if Pos.eqb (changed u) r then
           match change u with
           | Insert => before || affected u row
           | Remove => before && negb (affected u row)
           | Assign _ => before
           end
         else before)
  end.
Fixpoint value_after (us : list update) (f : symbol) (row : list (element M)) (before : element M) : element M :=
  match us with
  | [] => before
  | u :: us' =>
      value_after us' f row
        (if Pos.eqb (changed u) f then
           match change u with
           | Assign v => if affected u row then value_now P M w (matched (pattern u) row ++ xs) v else before
           | _ => before
           end
         else before)
  end.
Definition after (a : action) : table :=
  {| function_at := fun f row => value_after (updates a) f row (function_at t f row);
     relation_at := fun r row => related_after (updates a) r row (relation_at t r row) |}.

Lemma affected_right : forall u row, takes_place P M w xs u row <-> affected u row = true.
Proof.
  intros u row. unfold takes_place, affected. rewrite andb_true_iff, <- holds_now_right.
  enough (F : fits P M w xs (pattern u) row <-> fitting_row (pattern u) row = true) by tauto.
  revert row. induction (pattern u) as [|[v|] p IH]; intros [|x row]; simpl; try intuition discriminate.
  - rewrite andb_true_iff, <- (same_right _ _ _ _ D), IH. reflexivity.
  - apply IH.
Qed.

Lemma related_after_right : forall r row us (before : Prop) b, (before <-> b = true) ->
  (relation_after P M w xs us r row before <-> related_after us r row b = true).
Proof.
  intros r row us. induction us as [|u us IH]; intros before b B; simpl; [exact B|]. apply IH. clear IH.
  destruct (Pos.eqb (changed u) r); [|exact B]. destruct (change u).
  - rewrite orb_true_iff, <- affected_right. tauto.
  - rewrite andb_true_iff, negb_true_iff, affected_right. destruct (affected u row); intuition discriminate.
  - exact B.
Qed.

Lemma value_after_right : forall f row us (before : element M -> Prop) x, before x ->
  function_after P M w xs us f row before (value_after us f row x).
Proof.
  intros f row us. induction us as [|u us IH]; intros before x B; simpl; [exact B|]. apply IH. clear IH.
  destruct (Pos.eqb (changed u) f); [|exact B]. destruct (change u) as [| |v]; try exact B.
  destruct (affected u row) eqn:A.
  - left. apply affected_right in A. auto.
  - right. rewrite affected_right, A. split; [discriminate|exact B].
Qed.

Lemma after_right : forall a, leads_to P M w a xs (world_of (after a)).
Proof.
  intros a. split.
  - intros r ss row _ _ _. symmetry. apply related_after_right. reflexivity.
  - intros f ss s row _ _ _. simpl. apply value_after_right. reflexivity.
Qed.

Definition apart (a : action) (i j : nat) : bool :=
  match nth_error (parameters a) i, nth_error (parameters a) j, nth_error xs i, nth_error xs j with
  | Some s, Some s', Some x, Some y => negb (Pos.eqb s s') || negb (same x y)
  | _, _, _, _ => true
  end.
Definition possible (a : action) : bool :=
  all2 (fun s x => existsb (same x) (listed s)) (parameters a) xs
  && forallb (holds_now t xs) (guards a)
  && forallb (fun i => forallb (fun j => Nat.eqb i j || apart a i j) (drawn a)) (drawn a).

Lemma possible_right : forall a, possible a = true -> enabled P M w a xs.
Proof.
  intros a Can. apply andb_true_iff in Can as [Can Apart]. apply andb_true_iff in Can as [Sorted Guards].
  apply all2_Forall2 in Sorted. rewrite forallb_forall in Guards, Apart. split; [|split].
  - revert Sorted. apply Forall2_mono. intros s x E. apply existsb_exists in E. destruct E as (y & Y & E).
    apply (same_right _ _ _ _ D) in E. subst y. apply (listed_right _ _ _ _ D), Y.
  - intros g G. apply holds_now_right. exact (Guards g G).
  - intros i j s I J Differ Si Sj E. specialize (Apart i I). rewrite forallb_forall in Apart. specialize (Apart j J).
    apply orb_true_iff in Apart as [Same|Apart]; [apply Nat.eqb_eq in Same; exact (Differ Same)|].
    assert (Given : i < length xs) by (rewrite <- (Forall2_same_length _ _ _ Sorted); exact (in_scope _ _ _ _ Si)).
    unfold apart in Apart. rewrite Si, Sj, <- E, (nth_error_nth' xs (stray M) Given), Pos.eqb_refl in Apart.
    simpl in Apart. rewrite (proj1 (same_right _ _ _ _ D _ _) eq_refl) in Apart. discriminate.
Qed.
End Step.

(** *** From the first state *)

(** [chosen]: values of functions that have no initial one. *)
Variable chosen : symbol -> list (element M) -> element M.

Definition start : table :=
  {| function_at := fun f row =>
       match initial_value P f with Some (inr t) => value M nobody row t | _ => chosen f row end;
     relation_at := fun r row =>
       match initial_value P r with Some (inl f) => holds M listed same related nobody row f | _ => false end |}.

Lemma start_right : well_sorted P M (world_of start) -> first_state P M (world_of start).
Proof.
  intros W. split; [exact W|]. split.
  - intros r ss row _ _ _. simpl. destruct (initial_value P r) as [[f|t]|]; try intuition discriminate.
    symmetry. exact (holds_right _ _ _ _ D nobody f row).
  - intros f ss s row _ _ _. simpl. destruct (initial_value P f) as [[g|t]|]; auto.
Qed.

(** Steps one after the other; nothing if one of them cannot be taken. *)
Fixpoint run (steps : list (action * list (element M))) (t : table) : option table :=
  match steps with
  | [] => Some t
  | (a, xs) :: steps' => if possible t xs a then run steps' (after t xs a) else None
  end.

Theorem run_reachable : forall steps t, (forall a, In a (map fst steps) -> In a (actions P)) ->
  reachable P M (world_of t) -> forall t', run steps t = Some t' -> reachable P M (world_of t').
Proof.
  induction steps as [|(a, xs) steps IH]; intros t A R t' E; simpl in E; [injection E as <-; exact R|].
  destruct (possible t xs a) eqn:Can; [|discriminate].
  apply (IH (after t xs a)); [intros b B; apply A; right; exact B| |exact E].
  apply (by_step P M (world_of t)); [exact R|exact (finite_two_valued _ _ _ _ (decides_now _))|].
  exists a, xs. split; [apply A; left; reflexivity|].
  split; [exact (possible_right t xs a Can)|exact (after_right t xs a)].
Qed.

Corollary run_from_start : forall steps, (forall a, In a (map fst steps) -> In a (actions P)) ->
  well_sorted P M (world_of start) -> forall t, run steps start = Some t -> reachable P M (world_of t).
Proof.
  intros steps A W. apply run_reachable; [exact A|].
  exact (at_first P M _ (finite_two_valued _ _ _ _ (decides_now start)) (start_right W)).
Qed.
End Run.
