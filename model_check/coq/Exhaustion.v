(** A certificate for an exhausted instance: states, closed under steps, in each of which the claims hold.

    Which states there are, how they are written as bits and where a step leads are guesses here, and are checked:
    [known], [successor], [shelved] and [pick] may be any functions. *)
From Coq Require Import List Bool PArith NArith PeanoNat.
Import ListNotations.
From Carnet Require Import Logic Protocol Runs Bits Instances Demands Successors Moves Shelf.

Section Start.
Variable P : protocol.
Variable I : instance.
Variable L : limits.
Variable known : symbol -> list thing -> option thing -> status.
Let M := structure_of P I.

(** ** The structure of the instance *)

Definition nothing_changes (s : symbol) : bool := false.
Definition nothing_known (s : symbol) (row : list thing) (x : option thing) : status := Open.
Definition grounded_rigid := grounded P I nothing_changes nothing_known.

Lemma rigid_describes : describes P I nothing_changes nothing_known [] (function_in I)
  (fun r row => relation_in I r row = true).
Proof. split; intros; trivial; try discriminate. split; trivial. Qed.
Lemma rigid_stands : forall most xs f, stands most [] (grounded_rigid most xs f) (true_in M (nothing_named M) xs f).
Proof. intros most xs f. exact (grounded_stands P I _ _ [] _ _ rigid_describes f most xs). Qed.

Definition functions_closed : bool :=
  forallb (fun d =>
    match result d with
    | Some t =>
        mutable d
        || forallb (fun row => existsb (same (function_in I (declared d) row)) (elements P I t))
             (rows P I (arguments d))
    | None => true
    end) (declarations P).
Definition members_listed : bool :=
  forallb (fun e => forallb (fun m => existsb (same (Named m)) (elements P I (fst e))) (snd e)) (enumerations P).
Definition is_model (assumed : list formula) : bool :=
  functions_closed && members_listed && forallb (fun f => eval [] (grounded_rigid false [] f)) assumed.

Lemma existsb_same : forall x xs, existsb (same x) xs = true -> In x xs.
Proof. intros x xs E. apply existsb_exists in E. destruct E as (y & i & e). apply same_is in e. congruence. Qed.

Theorem model_interprets : forall assumed, is_model assumed = true ->
  interprets (rigid P) M /\ List.Forall (true_in M (nothing_named M) []) assumed.
Proof.
  intros assumed H. unfold is_model in H. rewrite !andb_true_iff in H. destruct H as [[F G] A].
  unfold functions_closed in F. unfold members_listed in G. rewrite forallb_forall in F, G. split; [split|].
  - intros f ss t row e i. simpl in e. destruct (changes P f) eqn:c; [discriminate|].
    destruct (function_declared P f ss t e) as (d & j & <- & m & n & <-). specialize (F d j).
    rewrite n, m, c in F. simpl in F. rewrite forallb_forall in F. apply existsb_same, F, rows_all, i.
  - intros m t e. simpl in e. unfold sort_of_member in e.
    match type of e with context [find ?f ?es] => destruct (find f es) as [[t' ms]|] eqn:E; [|discriminate] end.
    injection e as ->.
    apply find_some in E. destruct E as [i q]. specialize (G _ i). simpl in G, q. rewrite forallb_forall in G.
    apply existsb_exists in q. destruct q as (m' & j & q). apply Pos.eqb_eq in q. subst m'.
    apply existsb_same, G, j.
  - intros m n t t' _ _ e. injection e. trivial.
  - intros t ms x e i. simpl in e, i. unfold elements in i. rewrite e in i. apply in_map_iff in i.
    destruct i as (m & <- & i). exists m. auto.
  - apply List.Forall_forall. intros f i. rewrite forallb_forall in A. exact (rigid_stands false [] f (A f i)).
Qed.

(** ** The first states *)

Definition first_row (r : symbol) (most : bool) (row : list thing) : bit_formula :=
  match initial_value P r with Some (inl f) => grounded_rigid most row f | _ => Plain false end.
Definition started (f : symbol) (row : list thing) : option thing :=
  match find (fun e => same_row (fst e) row) (listed f (starting L)) with Some (_, x) => Some x | None => None end.
Definition first_value (f : symbol) (row : list thing) : option thing :=
  match initial_value P f with
  | Some (inr t) => Some (value M (nothing_named M) row t)
  | _ => started f row
  end.
Definition first_is (f : symbol) (most : bool) (row : list thing) (x : thing) : bit_formula :=
  match first_value f row with Some y => Plain (same y x) | None => Plain most end.

Definition first_conditions (d : declaration) : list condition_on_bits :=
  if mutable d then
    flat_map (fun row =>
      match result d with
      | None =>
          demand (known (declared d) row None) (first_row (declared d) true row) (first_row (declared d) false row)
      | Some t =>
          flat_map (fun x =>
            demand (known (declared d) row (Some x))
              (first_is (declared d) true row x) (first_is (declared d) false row x))
            (elements P I t)
      end) (rows P I (arguments d))
  else [].
Definition is_first (s : bits) : bool := forallb (met [] s) (flat_map first_conditions (declarations P)).

Lemma first_value_is : forall w f ss t row x, limited_first P I L w ->
  sorts_of_function P f = Some (ss, t) -> changes P f = true -> Forall2 (of_sort M) ss row ->
  first_value f row = Some x -> function_now w f row = x.
Proof.
  intros w f ss t row x ((_ & _ & F) & G) e c i V. specialize (F f ss t row e c i).
  unfold first_value in V.
  assert (S : started f row = Some x -> function_now w f row = x).
  { unfold started. destruct (find _ (listed f (starting L))) as [[row' y]|] eqn:E; [|discriminate].
    intros K. injection K as ->. apply find_some in E. destruct E as [j q]. apply same_row_is in q. simpl in q.
    subst row'. exact (G f row x j). }
  destruct (initial_value P f) as [[g|u]|]; auto. injection V as <-. exact F.
Qed.

Theorem first_described : forall w s, limited_first P I L w -> is_first s = true -> described P I known w s.
Proof.
  intros w s W H. unfold is_first in H. split.
  - intros f row c. unfold functions_of. rewrite c. reflexivity.
  - intros r row c. unfold relations_of. rewrite c. tauto.
  - intros r ss row c e i. destruct (relation_declared P r ss c e) as (d & j & <- & m & n & <-).
    apply sorted_row_is in i. pose proof (met_of _ _ _ _ _ d H j) as K. unfold first_conditions in K. rewrite m in K.
    pose proof (met_of _ _ _ _ _ row K (rows_all P I _ _ i)) as V. cbv beta in V. rewrite n in V.
    unfold relations_of. rewrite c.
    apply (agrees_for _ _ (match initial_value P (declared d) with
                           | Some (inl f) => true_in M (nothing_named M) row f | _ => False end)).
    { symmetry. destruct W as ((_ & R & _) & _). apply (R _ (arguments d)); trivial. }
    eapply demand_met; [| |exact V]; unfold first_row;
      (destruct (initial_value P (declared d)) as [[f|u]|];
       [exact (rigid_stands _ row f)|simpl; tauto || discriminate|simpl; tauto || discriminate]).
  - intros f ss t row c e i. unfold functions_of. rewrite c. destruct W as ((S & _) & _).
    apply sorted_row_is in i. exact (S f ss t row e c i).
  - intros f ss t row x c e i v. destruct (function_declared P f ss t e) as (d & j & <- & m & n & <-).
    apply sorted_row_is in i. pose proof (met_of _ _ _ _ _ d H j) as K. unfold first_conditions in K.
    rewrite m, c in K. pose proof (met_of _ _ _ _ _ row K (rows_all P I _ _ i)) as V. cbv beta in V. rewrite n in V.
    pose proof (met_of _ _ _ _ _ x V v) as U. unfold functions_of. rewrite c.
    eapply demand_met; [| |exact U]; unfold first_is;
      (destruct (first_value (declared d) row) as [y|] eqn:Y;
       [pose proof (first_value_is w _ _ t row y W e c i Y) as E|]).
    + intros <-. apply same_is. congruence.
    + intros _. reflexivity.
    + intros q. simpl in q. apply same_is in q. congruence.
    + discriminate.
Qed.
(** *** There is one *)

(** Where nothing says what a function is at first, it is the first element of its sort. *)
Definition begins_with (f : symbol) (row : list thing) : thing :=
  match first_value f row with
  | Some x => x
  | None => match sorts_of_function P f with Some (_, t) => hd (somebody I) (elements P I t) | None => somebody I end
  end.
Definition begins_within (d : declaration) : bool :=
  match result d with
  | Some t =>
      negb (mutable d)
      || forallb (fun row => existsb (same (begins_with (declared d) row)) (elements P I t)) (rows P I (arguments d))
  | None => true
  end.
Definition begins_as_limited (entry : symbol * list (list thing * thing)) : bool :=
  forallb (fun e => same (begins_with (fst entry) (fst e)) (snd e)) (snd entry).
Definition begins : bool :=
  forallb begins_within (declarations P) && forallb begins_as_limited (starting L).

Lemma instance_decides : decides M (elements P I) same (relation_in I).
Proof. constructor; simpl; [reflexivity|intros x y; symmetry; apply same_is|reflexivity]. Qed.

Definition first_table : table M := start P M (elements P I) same (relation_in I) begins_with.

Lemma first_table_is : forall f row, function_now (world_of M first_table) f row = begins_with f row.
Proof.
  intros f row. simpl. unfold begins_with at 2, first_value.
  destruct (initial_value P f) as [[g|t]|] eqn:E; trivial; unfold begins_with, first_value; rewrite E; trivial.
Qed.

Theorem something_begins : begins = true ->
  exists w, limited_first P I L w /\ reachable P M w.
Proof.
  intros H. unfold begins in H. apply andb_true_iff in H. destruct H as [W A]. rewrite forallb_forall in W, A.
  assert (S : well_sorted P M (world_of M first_table)).
  { intros f ss t row e c i. rewrite first_table_is.
    destruct (function_declared P f ss t e) as (d & j & <- & m & n & <-). specialize (W d j).
    unfold begins_within in W. rewrite n, m, c in W. simpl in W. rewrite forallb_forall in W.
    apply existsb_same, W, rows_all, i. }
  pose proof (start_right P M _ _ _ instance_decides begins_with S) as F.
  exists (world_of M first_table). split; [split; [exact F|]|].
  - intros f row x j. rewrite first_table_is. unfold listed in j.
    destruct (find (fun entry => Pos.eqb (fst entry) f) (starting L)) as [[g found]|] eqn:E; [|destruct j].
    apply find_some in E. destruct E as [k q]. apply Pos.eqb_eq in q. simpl in q. subst g.
    specialize (A _ k). unfold begins_as_limited in A. rewrite forallb_forall in A. apply same_is, (A _ j).
  - apply at_first; [exact (finite_two_valued _ _ _ _ (decides_now P M _ _ _ instance_decides first_table))|exact F].
Qed.
End Start.

(** ** The certificate *)

(** What is done with a state whose literals hold: a claim is wrong in it if [wrong_where] holds, or a step leads on. *)
Inductive task := Wrong (wrong_where : bit_formula) | Leads (rest : bit_formula) (m : move).

Fixpoint parts_of (g : bit_formula) : list bit_formula :=
  match g with Both a b => parts_of a ++ parts_of b | _ => [g] end.
Lemma parts_of_is : forall s g, eval s g = forallb (eval s) (parts_of g).
Proof.
  intros s. induction g as [b|k b|g IHg h IHh|g _ h _]; simpl; rewrite ?andb_true_r; trivial.
  rewrite IHg, IHh, forallb_app. reflexivity.
Qed.

Section Certificate.
Variable P : protocol.
Variable I : instance.
Variable L : limits.
Variable threat : list formula.
Variable claims : list formula.

(** The guesses. *)
Variable known : symbol -> list thing -> option thing -> status.    (** how states are written as bits *)
Variable successor : bits -> move -> bits.                           (** where a step leads *)
Variable shelved : bits -> list digit.                               (** where a state stands among the others *)
Variable pick : list (list literal_on * task) -> option literal_on.  (** what steps are sorted by *)

Let M := structure_of P I.

Definition to_refute (claim : formula) : list (list literal_on * task) :=
  map (fun g => let (ls, rest) := literals_of (opposite g) in (ls, Wrong rest))
    (parts_of (grounded_now P I known false [] claim)).
Definition to_follow (m : move) : list literal_on * task :=
  let (ls, rest) := literals_of (possible_where m) in (ls, Leads rest m).
Definition tasks : list (list literal_on * task) :=
  flat_map to_refute claims ++ map to_follow (moves P I L known).

Definition passes (h : shelf) (s : bits) (t : task) : bool :=
  match t with
  | Wrong g => negb (eval s g)
  | Leads g m =>
      if eval s g then
        let s' := successor s m in
        if fulfilled (asks m) s s' then (if same_bits s s' then true else stored s' (shelved s') h) else false
      else true
  end.
Definition state_passes (h : shelf) (n : net task) (s : bits) : bool := visit s (passes h s) n.

(** [start] is the first state. All steps from all states are looked at, and all claims in them. *)
Definition exhausted_by (depth : nat) (start : bits) (h : shelf) : bool :=
  is_model P I (axioms P ++ threat)
  && is_first P I L known start
  && stored start (shelved start) h
  && begins P I L
  && (let n := net_of pick depth tasks in every_state (state_passes h n) h).

Lemma claims_stand : forall n depth h w s, n = net_of pick depth tasks -> described P I known w s ->
  state_passes h n s = true -> forall claim, In claim claims -> true_now P M w [] claim.
Proof.
  intros n depth h w s -> D V claim i.
  apply (grounded_now_stands P I known w s D false [] claim). rewrite parts_of_is.
  apply forallb_forall. intros g j. destruct (eval s g) eqn:E; trivial. exfalso.
  pose proof (literals_of_is s (opposite g)) as H. rewrite opposite_is, E in H. symmetry in H.
  apply andb_true_iff in H. destruct H as [Hl Hr].
  assert (K : In (fst (literals_of (opposite g)), Wrong (snd (literals_of (opposite g)))) tasks).
  { apply in_app_iff. left. apply in_flat_map. exists claim. split; trivial. apply in_map_iff. exists g.
    split; trivial. destruct (literals_of (opposite g)). reflexivity. }
  pose proof (visit_all _ pick s _ depth tasks V _ _ K Hl) as F. simpl in F. rewrite Hr in F. discriminate.
Qed.

Lemma steps_stay : forall n depth h w w' s, n = net_of pick depth tasks -> described P I known w s ->
  state_passes h n s = true -> every_state (state_passes h n) h = true -> limited_step P I L w w' ->
  exists s', described P I known w' s' /\ state_passes h n s' = true.
Proof.
  intros n depth h w w' s -> D V A T.
  destruct (every_step_is_a_move P I L known w s w' D T) as (m & i & E & F).
  pose proof (literals_of_is s (possible_where m)) as H. rewrite E in H. symmetry in H.
  apply andb_true_iff in H. destruct H as [Hl Hr].
  assert (K : In (fst (literals_of (possible_where m)), Leads (snd (literals_of (possible_where m))) m) tasks).
  { apply in_app_iff. right. apply in_map_iff. exists m. split; trivial. unfold to_follow.
    destruct (literals_of (possible_where m)). reflexivity. }
  pose proof (visit_all _ pick s _ depth tasks V _ _ K Hl) as G. simpl in G. rewrite Hr in G.
  destruct (fulfilled (asks m) s (successor s m)) eqn:Q; [|discriminate G].
  exists (successor s m). split; [apply F, Q|].
  destruct (same_bits s (successor s m)) eqn:Z.
  - apply same_bits_is in Z. rewrite <- Z. exact V.
  - exact (stored_passes _ _ _ _ G A).
Qed.

(** ** The theorem *)

Theorem exhausted_holds : forall depth start h, exhausted_by depth start h = true ->
  interprets (rigid P) M
  /\ List.Forall (true_in M (nothing_named M) []) (axioms P ++ threat)
  /\ forall w, reachable_within P I L w -> forall claim, In claim claims -> true_now P M w [] claim.
Proof.
  intros depth start h H. unfold exhausted_by in H. rewrite !andb_true_iff in H. destruct H as [[[[S F] B] _] A].
  destruct (model_interprets P I _ S) as [G K]. split; [|split]; trivial.
  set (n := net_of pick depth tasks) in A.
  assert (R : forall w, reachable_within P I L w ->
    exists s, described P I known w s /\ state_passes h n s = true).
  { intros w R. induction R as [w W|w w' R (s & D & V) T].
    - exists start. split; [exact (first_described P I L known w start W F)|exact (stored_passes _ _ _ _ B A)].
    - exact (steps_stay n depth h w w' s eq_refl D V A T). }
  intros w Rw claim i. destruct (R w Rw) as (s & D & V).
  exact (claims_stand n depth h w s eq_refl D V claim i).
Qed.

(** What was certified is said of something: a state is reached, and the limits allow it. *)
Theorem exhausted_begins : forall depth start h, exhausted_by depth start h = true ->
  exists w, limited_first P I L w /\ reachable P M w.
Proof.
  intros depth start h H. unfold exhausted_by in H. rewrite !andb_true_iff in H. destruct H as [[_ B] _].
  exact (something_begins P I L B).
Qed.
End Certificate.
