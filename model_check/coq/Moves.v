(** Runs within limits, and the steps of an instance: every one that may be possible, found by early looks at guards. *)
From Coq Require Import List Bool PArith NArith PeanoNat Lia.
Import ListNotations.
From Carnet Require Import Logic Protocol Bits Instances Demands Successors.

(** ** Runs within limits *)

(** What an instance restricts beyond its structure. [pools]: from which elements a parameter (its number) of an action
    (its number) is taken; without a pool, from all of its sort. [starting]: first values of functions. *)
Record limits := {
  pools : list (nat * (nat * list thing));
  starting : list (symbol * list (list thing * thing)) }.
Definition no_limits : limits := Build_limits [] [].

Section Runs.
Variable P : protocol.
Variable I : instance.
Variable L : limits.
Let M := structure_of P I.

Definition within (i : nat) (xs : list thing) : Prop :=
  forall j pool x, In (i, (j, pool)) (pools L) -> nth_error xs j = Some x -> In x pool.
Definition limited_first (w : world M) : Prop :=
  first_state P M w /\ forall f row x, In (row, x) (listed f (starting L)) -> function_now w f row = x.
Definition limited_step (w w' : world M) : Prop :=
  exists i a xs, nth_error (actions P) i = Some a /\ within i xs /\ enabled P M w a xs /\ leads_to P M w a xs w'.

Inductive reachable_within : world M -> Prop :=
| limited_at_first : forall w, limited_first w -> reachable_within w
| limited_by_step : forall w w', reachable_within w -> limited_step w w' -> reachable_within w'.
End Runs.

(** Where nothing is limited, these are all runs. *)
Lemma without_limits : forall P I w, reachable P (structure_of P I) w -> reachable_within P I no_limits w.
Proof.
  intros P I w R. induction R as [w _ F|w w' R IH _ (a & xs & i & E & T)].
  - apply limited_at_first. split; trivial. intros f row x [].
  - apply limited_by_step with w; trivial. apply In_nth_error in i. destruct i as [i e].
    exists i, a, xs. split; [exact e|split; [|split; trivial]]. intros j pool x [].
Qed.

(** ** Formulas that read only the first parameters *)

Fixpoint below_term (n : nat) (t : term) : bool :=
  match t with Bound k => Nat.ltb k n | Apply f ts => forallb (below_term n) ts | _ => true end.
Fixpoint below (n : nat) (f : formula) : bool :=
  match f with
  | Const _ => true
  | Holds r ts => forallb (below_term n) ts
  | Equal a b => below_term n a && below_term n b
  | Not g => below n g
  | And g h | Or g h | Implies g h => below n g && below n h
  | Choose c g h => below n c && (below n g && below n h)
  | Forall s g | Exists s g => below (S n) g
  end.

Section Below.
Variable M : structure.
Variable named : nat -> element M.

Definition alike (n : nat) (e e' : list (element M)) : Prop :=
  forall k, k < n -> nth k e (stray M) = nth k e' (stray M).

Fixpoint value_below n e e' (A : alike n e e') t {struct t} :
  below_term n t = true -> value M named e t = value M named e' t.
Proof.
  destruct t as [k|k|m|f ts]; simpl; trivial.
  - intros B. apply A, Nat.ltb_lt, B.
  - intros B. f_equal. induction ts as [|t ts IH]; simpl in *; trivial.
    apply andb_true_iff in B. destruct B as [b B]. f_equal; auto. apply value_below with n; trivial.
Qed.
Lemma values_below : forall n e e' ts, alike n e e' -> forallb (below_term n) ts = true ->
  map (value M named e) ts = map (value M named e') ts.
Proof.
  intros n e e' ts A B. apply map_ext_in. intros t i. rewrite forallb_forall in B.
  apply value_below with n; auto.
Qed.
Lemma alike_more : forall n e e' x, alike n e e' -> alike (S n) (x :: e) (x :: e').
Proof. intros n e e' x A [|k] K; simpl; trivial. apply A. lia. Qed.

Lemma true_below : forall f n e e', alike n e e' -> below n f = true ->
  (true_in M named e f <-> true_in M named e' f).
Proof.
  induction f as [b|r ts|a b|g IHg|g IHg h IHh|g IHg h IHh|g IHg h IHh|c IHc g IHg h IHh|t g IHg|t g IHg];
    intros n e e' A B; simpl in *; rewrite ?andb_true_iff in B.
  - tauto.
  - rewrite (values_below n e e' ts A B). tauto.
  - destruct B as [B B']. rewrite (value_below n e e' A a B), (value_below n e e' A b B'). tauto.
  - rewrite (IHg n e e' A B). tauto.
  - destruct B as [B B']. rewrite (IHg n e e' A B), (IHh n e e' A B'). tauto.
  - destruct B as [B B']. rewrite (IHg n e e' A B), (IHh n e e' A B'). tauto.
  - destruct B as [B B']. rewrite (IHg n e e' A B), (IHh n e e' A B'). tauto.
  - destruct B as (B & B' & B''). rewrite (IHc n e e' A B), (IHg n e e' A B'), (IHh n e e' A B''). tauto.
  - split; intros H x i; apply (IHg (S n) (x :: e) (x :: e')); auto using alike_more.
  - split; intros (x & i & H); exists x; split; trivial;
      apply (IHg (S n) (x :: e) (x :: e')); auto using alike_more.
Qed.
End Below.

Fixpoint conjuncts (f : formula) : list formula :=
  match f with And g h => conjuncts g ++ conjuncts h | _ => [f] end.

Lemma conjuncts_true : forall M named e f, true_in M named e f -> forall g, In g (conjuncts f) -> true_in M named e g.
Proof.
  intros M named e. induction f; simpl; intros T k i; try (destruct i as [<-|[]]; exact T).
  apply in_app_iff in i. destruct i; [apply IHf1|apply IHf2]; tauto.
Qed.

(** ** The steps that an instance has *)

Section Steps.
Variable P : protocol.
Variable I : instance.
Variable L : limits.
Variable known : symbol -> list thing -> option thing -> status.
Let M := structure_of P I.

Definition pool_allows (i j : nat) (x : thing) (entry : nat * (nat * list thing)) : bool :=
  negb (Nat.eqb i (fst entry) && Nat.eqb j (fst (snd entry))) || existsb (same x) (snd (snd entry)).
Definition domain (i j : nat) (s : sort) : list thing :=
  filter (fun x => forallb (pool_allows i j x) (pools L)) (elements P I s).
Fixpoint domains (i j : nat) (ss : list sort) : list (list thing) :=
  match ss with [] => [] | s :: ss' => domain i j s :: domains i (S j) ss' end.

Lemma domains_all : forall i xs, within L i xs -> forall ss j ys,
  (forall k, nth_error ys k = nth_error xs (j + k)) -> Forall2 (of_sort M) ss ys ->
  Forall2 (fun d x => In x d) (domains i j ss) ys.
Proof.
  intros i xs Wi. induction ss as [|s ss IH]; intros j ys E F; inversion F as [|? x ? ys' m F']; subst; simpl;
    constructor.
  - apply filter_In. split; trivial. apply forallb_forall. intros (i' & j' & pool) H.
    unfold pool_allows. simpl. destruct (Nat.eqb i i') eqn:e; trivial. destruct (Nat.eqb j j') eqn:e'; trivial.
    apply Nat.eqb_eq in e. apply Nat.eqb_eq in e'. subst i' j'. simpl. apply existsb_exists. exists x.
    split; [|apply same_is; reflexivity]. apply (Wi j pool x H). specialize (E 0). rewrite Nat.add_0_r in E.
    symmetry. exact E.
  - apply IH; trivial. intros k. specialize (E (S k)). rewrite Nat.add_succ_r in E. exact E.
Qed.

(** Elements are chosen one by one; what is asked is looked at as soon as what it reads is chosen. *)
Fixpoint choices (ds : list (list thing)) (asked : list formula) (xs : list thing) (so_far : bit_formula)
    : list (list thing * bit_formula) :=
  let ready := filter (below (length xs)) asked in
  let later := filter (fun g => negb (below (length xs) g)) asked in
  match and_also so_far (fun _ => for_all (grounded_now P I known true xs) ready) with
  | Plain false => []
  | g =>
      match ds with
      | [] => [(xs, g)]
      | d :: ds' => flat_map (fun x => choices ds' later (xs ++ [x]) g) d
      end
  end.

Lemma choices_all : forall w s ds ys, described P I known w s -> Forall2 (fun d x => In x d) ds ys ->
  forall asked xs so_far, eval s so_far = true ->
  (forall g, In g asked -> true_now P M w (xs ++ ys) g) ->
  exists g, In (xs ++ ys, g) (choices ds asked xs so_far) /\ eval s g = true.
Proof.
  intros w s ds ys D H. induction H as [|d y ds ys i F IH]; intros asked xs so_far E T;
    cbn [choices];
    set (g := and_also so_far _);
    (assert (G : eval s g = true);
     [unfold g; rewrite and_also_is, E; rewrite for_all_is; apply forallb_forall; intros f j;
      apply filter_In in j; destruct j as [j B]; specialize (T f j);
      apply (grounded_now_stands P I known w s D true xs f);
      refine (proj1 (true_below (during P M w) _ f (length xs) _ xs _ B) T); intros k K; apply app_nth1, K|]).
  - rewrite app_nil_r in *. exists g. split; trivial. destruct g as [[]| | |]; simpl; auto. discriminate G.
  - destruct (IH (filter (fun h => negb (below (length xs) h)) asked) (xs ++ [y]) g G) as (h & j & E').
    { intros f j. apply filter_In in j. rewrite <- app_assoc. apply T, j. }
    rewrite <- app_assoc in j. exists h. split; trivial.
    assert (In (xs ++ y :: ys, h) (flat_map (fun x =>
      choices ds (filter (fun g0 => negb (below (length xs) g0)) asked) (xs ++ [x]) g) d)) as K.
    { apply in_flat_map. exists y. split; trivial. }
    destruct g as [[]| | |]; trivial. discriminate G.
Qed.

Definition drawn_differ (a : action) (xs : list thing) : bool :=
  forallb (fun i => forallb (fun j =>
    Nat.eqb i j ||
    match nth_error (parameters a) i, nth_error (parameters a) j, nth_error xs i, nth_error xs j with
    | Some s, Some t, Some x, Some y => negb (Pos.eqb s t && same x y)
    | _, _, _, _ => true
    end) (drawn a)) (drawn a).

Lemma enabled_differ : forall w a (xs : list thing), enabled P M w a xs -> drawn_differ a xs = true.
Proof.
  intros w a xs (_ & _ & H). apply forallb_forall. intros i Hi. apply forallb_forall. intros j Hj.
  destruct (Nat.eqb i j) eqn:e; trivial. apply Nat.eqb_neq in e. simpl.
  destruct (nth_error (parameters a) i) as [s|] eqn:Ei; trivial.
  destruct (nth_error (parameters a) j) as [t|] eqn:Ej; trivial.
  destruct (nth_error xs i) as [x|] eqn:Xi; trivial.
  destruct (nth_error xs j) as [y|] eqn:Xj; trivial.
  destruct (Pos.eqb s t) eqn:st; trivial. apply Pos.eqb_eq in st. subst t. simpl.
  destruct (same x y) eqn:xy; trivial. apply same_is in xy. subst y. exfalso.
  exact (H i j s Hi Hj e Ei Ej (eq_trans Xi (eq_sym Xj))).
Qed.

(** A step: where it may be taken, and what it asks of the bits after it. *)
Record move := { by_action : nat; with_arguments : list thing; possible_where : bit_formula; asks : demands }.

Definition moves_of (stay : list (declaration * list condition_on_bits)) (i : nat) (a : action) : list move :=
  map (fun c => Build_move i (fst c) (snd c)
                  (all_demands (conditions_after P I known stay (fst c) (updates a))))
    (filter (fun c => drawn_differ a (fst c))
       (choices (domains i 0 (parameters a)) (flat_map conjuncts (guards a)) [] (Plain true))).
Fixpoint moves_from (stay : list (declaration * list condition_on_bits)) (i : nat) (actions : list action)
    : list move :=
  match actions with [] => [] | a :: more => moves_of stay i a ++ moves_from stay (S i) more end.
Definition moves : list move := moves_from (staying P I known) 0 (actions P).

Lemma moves_from_all : forall stay actions i k a m,
  nth_error actions k = Some a -> In m (moves_of stay (i + k) a) -> In m (moves_from stay i actions).
Proof.
  intros stay. induction actions as [|b actions IH]; intros i k a m E H; [destruct k; discriminate E|].
  simpl. apply in_app_iff. destruct k as [|k]; simpl in E.
  - injection E as ->. rewrite Nat.add_0_r in H. auto.
  - right. apply (IH (S i) k a); trivial. rewrite Nat.add_succ_r in H. exact H.
Qed.

(** Every step within the limits is one of them. *)
Theorem every_step_is_a_move : forall w s w', described P I known w s -> limited_step P I L w w' ->
  exists m, In m moves /\ eval s (possible_where m) = true /\
    forall s', fulfilled (asks m) s s' = true -> described P I known w' s'.
Proof.
  intros w s w' D (i & a & xs & e & Wi & E & T). destruct E as (F & G & H).
  destruct (choices_all w s (domains i 0 (parameters a)) xs D) with
    (asked := flat_map conjuncts (guards a)) (xs := @nil thing) (so_far := Plain true) as (g & j & E'); trivial.
  - apply (domains_all i xs); trivial.
  - intros f j. apply in_flat_map in j. destruct j as (k & j & j'). simpl.
    apply (conjuncts_true (during P M w) _ xs k); trivial. apply G, j.
  - simpl in j. eexists. split; [|split].
    + apply (moves_from_all (staying P I known) (actions P) 0 i a _ e). simpl. unfold moves_of.
      apply in_map_iff. exists (xs, g). split; [reflexivity|]. apply filter_In. split; trivial. simpl.
      apply (enabled_differ w). split; [|split]; trivial.
    + exact E'.
    + intros s' K. simpl in K. apply fulfilled_met in K.
      exact (step_described P I known w s a xs w' s' D T K).
Qed.
End Steps.
