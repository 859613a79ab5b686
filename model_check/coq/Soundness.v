(** The checker is sound: an obligation with an accepted refutation is contradictory.

    A fact is [established] if it is true and mentions only elements that are named already. Every rule of the checker
    establishes facts from established facts, and a branch ends only in facts that cannot all be true. *)
From Coq Require Import List Bool PeanoNat PArith.
Import ListNotations.
From Carnet Require Import Logic Checker.
From Carnet Require Export Groundwork.

Section Sound.
Variable S : signature.
Variable M : structure.
Hypothesis interpreted : interprets S M.
Hypothesis classical : two_valued M.

Implicit Types named : nat -> element M.

(** ** Established facts *)

Definition signed (b : bool) (A : Prop) : Prop := if b then A else ~ A.

Definition true_fact named (x : fact) : Prop :=
  signed (sign x) (true_in M named (map (value M named []) (env x)) (body x)).

Definition fact_within (n : nat) (x : fact) : Prop :=
  List.Forall (within n) (env x) /\ formula_within n (body x).

Lemma fact_within_more : forall n m x, n <= m -> fact_within n x -> fact_within m x.
Proof.
  intros n m x more [in_env in_body]. split; eauto using all_within_more, formula_within_more.
Qed.

Definition established (n : nat) named (x : fact) : Prop := fact_within n x /\ true_fact named x.

(** What follows from a fact under the same variables is established too. *)
Lemma established_follows : forall n named b c env f g,
  (formula_within n f -> formula_within n g) ->
  (let holds := true_in M named (map (value M named []) env) in signed b (holds f) -> signed c (holds g)) ->
  established n named (Fact b env f) -> established n named (Fact c env g).
Proof.
  intros n named b c env f g follows_within follows [[in_env in_body] truth].
  split; [split |]; simpl in *; auto. apply follows, truth.
Qed.

Lemma note_keeps_names : forall f b env st, eigens (note b env f st) = eigens st.
Proof.
  induction f; intros b env st; simpl; try destruct b; simpl; rewrite ?IHf, ?IHf2, ?IHf1; reflexivity.
Qed.

Lemma note_established : forall n named f b env st,
  established n named (Fact b env f) -> List.Forall (established n named) (facts st) ->
  List.Forall (established n named) (facts (note b env f st)).
Proof.
  intros n named.
  assert (kept : forall x st, established n named x -> List.Forall (established n named) (facts st) ->
                 List.Forall (established n named) (facts (add x st))) by (intros; constructor; assumption).
  induction f as [value | r ts | t u | g IH | g IHg h IHh | g IHg h IHh | g IHg h IHh | c _ g _ h _ | s g _ | s g _];
    intros b env st fact_holds state_holds; cbn [note].
  - apply kept; assumption.
  - apply kept; [| assumption]. destruct fact_holds as [[in_env in_body] truth]. split; [split |].
    + constructor.
    + simpl in *. rewrite Forall_map. rewrite Forall_forall in in_body |- *. auto using ground_within.
    + unfold true_fact in *. simpl in *. rewrite map_map.
      rewrite (map_ext _ _ (value_ground M named env)). exact truth.
  - apply kept; [| assumption]. destruct fact_holds as [[in_env in_body] truth]. split; [split |].
    + constructor.
    + simpl in *. intuition auto using ground_within.
    + unfold true_fact in *. simpl in *. rewrite !value_ground. exact truth.
  - apply IH; [| assumption]. revert fact_holds. apply established_follows; simpl; [tauto |].
    destruct (classical named (map (value M named []) env) g); destruct b; simpl; tauto.
  - destruct b; [| apply kept; assumption].
    apply IHh; [| apply IHg; [| assumption]]; revert fact_holds; apply established_follows; simpl; tauto.
  - destruct b; [apply kept; assumption |].
    apply IHh; [| apply IHg; [| assumption]]; revert fact_holds; apply established_follows; simpl; tauto.
  - destruct b; [apply kept; assumption |].
    apply IHh; [| apply IHg; [| assumption]]; revert fact_holds; apply established_follows; simpl; try tauto.
    destruct (classical named (map (value M named []) env) g); tauto.
  - apply kept; assumption.
  - apply kept; assumption.
  - apply kept; assumption.
Qed.

(** ** Sorts and instances *)

Lemma instance_established : forall sorts named ts x y,
  sorts_fit M sorts named -> instance S sorts x ts = Some y ->
  established (length sorts) named x -> established (length sorts) named y.
Proof.
  intros sorts named ts x y fit. revert x. induction ts as [| t ts IH]; simpl; intros x found fact_holds.
  - injection found as <-. exact fact_holds.
  - destruct x as [[|] env [| | | | | | | | s g | s g]]; try discriminate;
      (destruct (is_sort (sort_of S sorts t) s) eqn:sorted; [| discriminate]);
      apply (is_sort_fits S M interpreted _ named) in sorted as [in_t in_s]; trivial;
      apply (IH _ found); destruct fact_holds as [[in_env in_body] truth]; (split; [split; [constructor |] |]); trivial;
      unfold true_fact in *; simpl in *.
    + apply truth, in_s.
    + intros holds. apply truth. exists (value M named [] t). auto.
Qed.

(** ** The end of a branch *)

Lemma rewrite_fact_true : forall named a b x,
  value M named [] a = value M named [] b -> true_fact named x -> true_fact named (rewrite_fact a b x).
Proof.
  intros named a b [s [| e env] [value | r ts | u v | | | | | | |]] equal truth; try exact truth;
    unfold true_fact in *; simpl in *.
  - rewrite map_map, (map_ext _ (value M named [])); [exact truth |]. intros t. apply value_rewrite, equal.
  - rewrite !value_rewrite; assumption.
Qed.

Lemma rewrite_others_true : forall named a b xs but,
  value M named [] a = value M named [] b ->
  List.Forall (true_fact named) xs -> List.Forall (true_fact named) (rewrite_others a b but xs).
Proof.
  intros named a b xs but equal truth. revert but.
  induction truth as [| x xs truth_x truth IH]; intros [| but]; simpl; constructor; auto using rewrite_fact_true.
  rewrite Forall_map. revert truth. apply Forall_impl. auto using rewrite_fact_true.
Qed.

Lemma absurd_alone_false : forall named x, absurd_alone S x = true -> ~ true_fact named x.
Proof.
  intros named [[|] [| e env] [value | | t u | | | | | | |]] absurd truth; unfold true_fact in truth; simpl in *;
    try discriminate; try (destruct value; simpl in *; congruence).
  - destruct t as [| | m |], u as [| | n |]; try discriminate.
    apply both_true in absurd as [differ absurd]. apply both_true in absurd as [is_m is_n]. unfold is_member in *.
    destruct (member_sort S m) as [s |] eqn:sort_m; [| discriminate].
    destruct (member_sort S n) as [s' |] eqn:sort_n; [| discriminate].
    rewrite (members_differ S M interpreted m n s s' sort_m sort_n truth), Pos.eqb_refl in differ. discriminate.
  - apply same_term_equal in absurd as ->. apply truth. reflexivity.
Qed.

Lemma opposed_false : forall named x y, opposed x y = true -> true_fact named x -> true_fact named y -> False.
Proof.
  intros named [s env f] [s' env' f'] absurd truth truth'. unfold opposed, true_fact in *. simpl in *.
  apply both_true in absurd as [signs absurd]. apply both_true in absurd as [same_env same_body].
  apply same_terms_equal in same_env as ->. apply same_formula_equal in same_body as ->.
  destruct s, s'; simpl in *; auto; discriminate.
Qed.

Lemma absurd_false : forall named xs, absurd S xs = true -> ~ List.Forall (true_fact named) xs.
Proof.
  intros named xs absurd truth. rewrite Forall_forall in truth. apply either_true in absurd as [alone | two].
  - apply existsb_exists in alone as (x & in_xs & alone). exact (absurd_alone_false named x alone (truth x in_xs)).
  - apply existsb_exists in two as (x & x_in & two). apply existsb_exists in two as (y & y_in & two).
    exact (opposed_false named x y two (truth x x_in) (truth y y_in)).
Qed.

Lemma closes_false : forall named steps xs, closes S steps xs = true -> ~ List.Forall (true_fact named) xs.
Proof.
  intros named. induction steps as [| [place backwards] steps IH]; simpl; intros xs closed truth.
  - exact (absurd_false named xs closed truth).
  - destruct (nth_error xs place) as [x |] eqn:found; [| discriminate].
    assert (equation := proj1 (Forall_forall _ _) truth x (nth_error_In _ _ found)).
    destruct x as [[|] [| e env] [| | u v | | | | | | |]]; try discriminate.
    unfold true_fact in equation. simpl in equation.
    destruct backwards; apply IH in closed; apply closed, rewrite_others_true; auto.
Qed.

Lemma chosen_all : forall {A} (P : A -> Prop) xs places ys,
  chosen xs places = Some ys -> List.Forall P xs -> List.Forall P ys.
Proof.
  intros A P xs places. induction places as [| k places IH]; simpl; intros ys found all.
  - injection found as <-. constructor.
  - destruct (nth_error xs k) as [x |] eqn:at_k; [| discriminate].
    destruct (chosen xs places) as [rest |]; [| discriminate]. injection found as <-.
    constructor; [| auto]. rewrite Forall_forall in all. eauto using nth_error_In.
Qed.

(** ** States *)

Section States.
Variable hyps : list formula.
Variable scope : list term.
Variable xs : list (element M).          (** what the constants of the obligation stand for *)
Hypothesis hyps_within : List.Forall (formula_within 0) hyps.
Hypothesis hyps_true : forall named, List.Forall (true_in M named xs) hyps.

(** All that a state says is so, if eigenvariables stand for what [named] gives them. *)
Record realized named (st : state) : Prop := {
  fit : sorts_fit M (eigens st) named;
  scope_within : List.Forall (within (length (eigens st))) scope;
  scope_named : map (value M named []) scope = xs;
  facts_hold : List.Forall (established (length (eigens st)) named) (facts st) }.

Lemma place_established : forall named st k x,
  realized named st -> nth_error (facts st) k = Some x -> established (length (eigens st)) named x.
Proof.
  intros named st k x real found. apply facts_hold in real. rewrite Forall_forall in real. eauto using nth_error_In.
Qed.

Lemma note_realized : forall named b env f st,
  realized named st -> established (length (eigens st)) named (Fact b env f) -> realized named (note b env f st).
Proof.
  intros named b env f st [fit inside scoped hold] fact_holds.
  constructor; rewrite ?note_keeps_names; auto using note_established.
Qed.

Lemma use_realized : forall named h f st,
  realized named st -> nth_error hyps h = Some f -> realized named (note true scope f st).
Proof.
  intros named h f st real found. apply nth_error_In in found. apply note_realized; [exact real |].
  split; [split |].
  - exact (scope_within _ _ real).
  - apply (formula_within_more 0); [apply Nat.le_0_l |]. rewrite Forall_forall in hyps_within. auto.
  - unfold true_fact. simpl. rewrite (scope_named _ _ real).
    exact (proj1 (Forall_forall _ _) (hyps_true named) f found).
Qed.

(** *** Witnesses *)

Definition name_next named (n : nat) (x : element M) : nat -> element M :=
  fun k => if Nat.eqb k n then x else named k.

Lemma name_next_agrees : forall named n x, agree M n named (name_next named n x).
Proof.
  intros named n x k before. unfold name_next. destruct (Nat.eqb_spec k n) as [-> |]; [| reflexivity].
  destruct (Nat.lt_irrefl n before).
Qed.

Lemma established_kept : forall n named x y,
  established n named y -> established (Datatypes.S n) (name_next named n x) y.
Proof.
  intros n named x [b env f] [inside truth]. split.
  - exact (fact_within_more n _ _ (Nat.le_succ_diag_r n) inside).
  - destruct inside as [in_env in_body]. unfold true_fact in *. simpl in *.
    rewrite <- (values_agree M n named); trivial using name_next_agrees.
    pose proof (truth_agrees M n named (name_next named n x) f (map (value M named []) env)
      (name_next_agrees named n x) in_body) as unchanged.
    destruct b; simpl in *; tauto.
Qed.

Lemma name_realized : forall named st s x,
  realized named st -> of_sort M s x ->
  realized (name_next named (length (eigens st)) x) (State (eigens st ++ [s]) (facts st)).
Proof.
  intros named st s x [fit inside scoped hold] in_s.
  assert (one_more : length (eigens st ++ [s]) = Datatypes.S (length (eigens st))).
  { rewrite app_length. apply Nat.add_1_r. }
  constructor; cbn [eigens facts]; rewrite ?one_more.
  - intros k s' found. unfold name_next. destruct (Nat.eqb_spec k (length (eigens st))) as [-> | other].
    + rewrite nth_error_app2, Nat.sub_diag in found by apply le_n. injection found as <-. exact in_s.
    + rewrite nth_error_app1 in found; [exact (fit k s' found) |].
      assert (below : k < length (eigens st ++ [s])) by (apply nth_error_Some; congruence).
      rewrite one_more, Nat.lt_succ_r in below. apply Nat.le_neq. auto.
  - revert inside. apply all_within_more, Nat.le_succ_diag_r.
  - rewrite <- (values_agree M (length (eigens st)) named); trivial using name_next_agrees.
  - revert hold. apply Forall_impl. intros y. apply established_kept.
Qed.

(** If something exists of which a formula holds (or does not), it can have the next name. *)
Lemma named_realized : forall named st b env s g,
  realized named st -> List.Forall (within (length (eigens st))) env -> formula_within (length (eigens st)) g ->
  (exists x, of_sort M s x /\ signed b (true_in M named (x :: map (value M named []) env) g)) ->
  exists named', realized named'
    (note b (Eigen (length (eigens st)) :: env) g (State (eigens st ++ [s]) (facts st))).
Proof.
  intros named st b env s g real in_env in_body (x & in_s & truth).
  set (n := length (eigens st)) in *. exists (name_next named n x).
  assert (one_more : length (eigens st ++ [s]) = Datatypes.S n).
  { rewrite app_length. apply Nat.add_1_r. }
  apply note_realized; [exact (name_realized named st s x real in_s) |].
  cbn [eigens]. rewrite one_more. split; [split |].
  - constructor; [constructor; apply Nat.lt_succ_diag_r |].
    exact (all_within_more _ _ _ (Nat.le_succ_diag_r n) in_env).
  - exact (formula_within_more n _ g (Nat.le_succ_diag_r n) in_body).
  - unfold true_fact. cbn [sign body map value Checker.env].
    rewrite <- (values_agree M n named); trivial using name_next_agrees.
    replace (name_next named n x n) with x by (unfold name_next; rewrite Nat.eqb_refl; reflexivity).
    pose proof (truth_agrees M n named (name_next named n x) g (x :: map (value M named []) env)
      (name_next_agrees named n x) in_body) as unchanged.
    destruct b; simpl in *; tauto.
Qed.

Lemma counterexample : forall named env s g,
  ~ true_in M named env (Forall s g) -> exists x, of_sort M s x /\ ~ true_in M named (x :: env) g.
Proof.
  intros named env s g fails. destruct (classical named env (Exists s (Not g))) as [there | nowhere]; [exact there |].
  exfalso. apply fails. intros x in_s. destruct (classical named (x :: env) g) as [holds | holds_not]; [exact holds |].
  exfalso. apply nowhere. exists x. auto.
Qed.

Lemma witness_realized : forall named st st' x,
  realized named st -> established (length (eigens st)) named x -> witness x st = Some st' ->
  exists named', realized named' st'.
Proof.
  intros named st st' [[|] env [| | | | | | | | s g | s g]] real [[in_env in_body] truth] named_next; try discriminate;
    injection named_next as <-.
  - exact (named_realized named st true env s g real in_env in_body truth).
  - exact (named_realized named st false env s g real in_env in_body (counterexample named _ s g truth)).
Qed.

(** *** Cases *)

Lemma ways_realized : forall named st x first second,
  realized named st -> established (length (eigens st)) named x -> ways x st = Some (first, second) ->
  realized named first \/ realized named second.
Proof.
  intros named st [b env f] first second real fact_holds found.
  (* one or two parts of the fact, each of which is so *)
  assert (one : forall c g, formula_within (length (eigens st)) g ->
    signed c (true_in M named (map (value M named []) env) g) -> realized named (note c env g st)).
  { intros c g in_g truth. apply note_realized; [exact real |]. destruct fact_holds as [[in_env _] _].
    split; [split |]; assumption. }
  assert (two : forall c g d h,
    formula_within (length (eigens st)) g -> signed c (true_in M named (map (value M named []) env) g) ->
    formula_within (length (eigens st)) h -> signed d (true_in M named (map (value M named []) env) h) ->
    realized named (note d env h (note c env g st))).
  { intros c g d h in_g truth_g in_h truth_h. apply note_realized; rewrite ?note_keeps_names; [auto |].
    destruct fact_holds as [[in_env _] _]. split; [split |]; assumption. }
  destruct fact_holds as [[_ in_body] truth]. unfold true_fact in truth. simpl in in_body, truth.
  destruct f as [| | | | g h | g h | g h | c g h | |]; try (destruct b; discriminate); simpl in in_body, truth.
  - destruct b; [discriminate |]. injection found as <- <-. simpl in truth.
    destruct (classical named (map (value M named []) env) g); [right; apply two | left; apply one]; simpl; tauto.
  - destruct b; [| discriminate]. injection found as <- <-. simpl in truth.
    destruct (classical named (map (value M named []) env) g); [left; apply one | right; apply two]; simpl; tauto.
  - destruct b; [| discriminate]. injection found as <- <-. simpl in truth.
    destruct (classical named (map (value M named []) env) g); [right; apply two | left; apply one]; simpl; tauto.
  - replace (ways (Fact b env (Choose c g h)) st)
      with (Some (note b env g (note true env c st), note b env h (note false env c st))) in found
      by (destruct b; reflexivity).
    injection found as <- <-.
    destruct (classical named (map (value M named []) env) c); [left | right]; apply two; destruct b; simpl in *; tauto.
Qed.

Lemma cases_realized : forall named st t s ms,
  realized named st -> sort_of S (eigens st) t = Some s -> members S s = Some ms ->
  exists m, In m ms /\ realized named (add (Fact true [] (Equal t (Member m))) st).
Proof.
  intros named st t s ms [fit inside scoped hold] sorted listed.
  destruct (sort_of_fits S M interpreted (eigens st) named t s fit sorted) as [in_t in_s].
  destruct (members_exhaust S M interpreted s ms _ listed in_s) as (m & m_in & is_m).
  exists m. split; [exact m_in |]. constructor; trivial. constructor; [| exact hold].
  split; [split; [constructor | split; [exact in_t | constructor]] | exact is_m].
Qed.

(** ** The theorem *)

Lemma refutation_induction (P : refutation -> Prop)
  (on_use : forall h r, P r -> P (Use h r))
  (on_instance : forall k ts r, P r -> P (Instance k ts r))
  (on_witness : forall k r, P r -> P (Witness k r))
  (on_split : forall k p q, P p -> P q -> P (Split k p q))
  (on_cases : forall t each, List.Forall P each -> P (Cases t each))
  (on_close : forall places steps, P (Close places steps)) :
  forall r, P r.
Proof.
  fix induction 1. intros [h r | k ts r | k r | k p q | t each | places steps].
  - apply on_use, induction.
  - apply on_instance, induction.
  - apply on_witness, induction.
  - apply on_split; apply induction.
  - apply on_cases. induction each as [| r each rest]; constructor; [apply induction | exact rest].
  - apply on_close.
Qed.

Lemma refutes_false : forall r st named, refutes S hyps scope st r = true -> ~ realized named st.
Proof.
  induction r as [h r IH | k ts r IH | k r IH | k p q IHp IHq | t each IH | places steps] using refutation_induction;
    cbn [refutes]; intros st named refuted real.
  - destruct (nth_error hyps h) as [f |] eqn:found; [| discriminate].
    exact (IH _ named refuted (use_realized named h f st real found)).
  - destruct (nth_error (facts st) k) as [x |] eqn:found; [| discriminate].
    destruct (instance S (eigens st) x ts) as [[b env g] |] eqn:instance_of; [| discriminate].
    apply (IH _ named refuted), note_realized; [exact real |].
    apply (instance_established _ named ts x); trivial; [exact (fit _ _ real) |].
    exact (place_established named st k x real found).
  - destruct (nth_error (facts st) k) as [x |] eqn:found; [| discriminate].
    destruct (witness x st) as [st' |] eqn:named_next; [| discriminate].
    destruct (witness_realized named st st' x real (place_established named st k x real found) named_next)
      as (named' & real').
    exact (IH st' named' refuted real').
  - destruct (nth_error (facts st) k) as [x |] eqn:found; [| discriminate].
    destruct (ways x st) as [[first second] |] eqn:split; [| discriminate].
    apply both_true in refuted as [refuted_first refuted_second].
    destruct (ways_realized named st x first second real (place_established named st k x real found) split)
      as [real_first | real_second].
    + exact (IHp first named refuted_first real_first).
    + exact (IHq second named refuted_second real_second).
  - destruct (sort_of S (eigens st) t) as [s |] eqn:sorted; [| discriminate].
    destruct (members S s) as [ms |] eqn:listed; [| discriminate].
    destruct (cases_realized named st t s ms real sorted listed) as (m & m_in & real_m).
    apply all2_Forall2 in refuted. clear sorted listed.
    induction refuted as [| r m' each ms refuted _ rest]; [exact m_in |].
    inversion IH as [| ? ? IH_r IH_each]; subst. destruct m_in as [-> | m_in].
    + exact (IH_r _ named refuted real_m).
    + exact (rest IH_each m_in).
  - destruct (chosen (facts st) places) as [facts_chosen |] eqn:found; [| discriminate].
    apply (closes_false named) in refuted. apply refuted, (chosen_all _ (facts st) places); [exact found |].
    generalize (facts_hold _ _ real). apply Forall_impl. intros x [_ truth]. exact truth.
Qed.
End States.
End Sound.

(** What the constants of an obligation stand for, given to the first eigenvariables. *)
Lemma values_of_constants : forall M (named : nat -> element M) xs,
  map (value M (fun k => nth k xs (named k)) []) (map Eigen (seq 0 (length xs))) = xs.
Proof.
  intros M named xs. rewrite map_map. simpl. apply nth_ext with (d := stray M) (d' := stray M).
  - rewrite map_length, seq_length. reflexivity.
  - intros k. rewrite map_length, seq_length. intros before.
    rewrite (nth_indep _ _ (nth 0 xs (named 0))) by (rewrite map_length, seq_length; exact before).
    rewrite (map_nth (fun k => nth k xs (named k)) (seq 0 (length xs)) 0 k), seq_nth by exact before.
    apply nth_indep, before.
Qed.

Theorem sound : forall S o r, accepts S o r = true -> contradictory S o.
Proof.
  intros S o r accepted M interpreted classical named xs in_sorts holds. unfold accepts in accepted.
  apply both_true in accepted as [plain_all refuted]. rewrite forallb_forall in plain_all.
  assert (inside : forall f, In f (hypotheses o) -> formula_within 0 f) by eauto using plain_within.
  assert (true_anyway : forall named', List.Forall (true_in M named' xs) (hypotheses o)).
  { intros named'. rewrite Forall_forall in *. intros f found.
    apply (truth_agrees M 0 named named'); auto. intros k none. destruct (Nat.nlt_0_r k none). }
  apply (refutes_false S M interpreted classical _ _ xs (proj2 (Forall_forall _ _) inside) true_anyway r _
    (fun k => nth k xs (named k)) refuted).
  pose proof (Forall2_same_length _ _ _ in_sorts) as same_length. constructor; simpl.
  - intros n s. apply Forall2_nth, in_sorts.
  - rewrite Forall_map. apply Forall_forall. intros k. rewrite in_seq. intros [_ before]. constructor. exact before.
  - rewrite same_length. apply values_of_constants.
  - constructor.
Qed.
