(** What is known after a step: what its updates ask of the bits after it. *)
From Coq Require Import List Bool PArith NArith PeanoNat.
Import ListNotations.
From Carnet Require Import Logic Protocol Bits Instances Demands.

(** ** What is known after a step *)

Section After.
Variable P : protocol.
Variable I : instance.
Variable known : symbol -> list thing -> option thing -> status.
Let M := structure_of P I.

Local Arguments equal : simpl never.
Definition grounded_now := grounded P I (changes P) known.
Definition possibly_now := possibly P I (changes P) known.

Fixpoint fits_bits (most : bool) (xs : list thing) (p : list (option term)) (row : list thing) : bit_formula :=
  match p, row with
  | [], [] => Plain true
  | None :: p', _ :: row' => fits_bits most xs p' row'
  | Some t :: p', x :: row' =>
      and_also (equal most (surely x) (possibly_now xs t)) (fun _ => fits_bits most xs p' row')
  | _, _ => Plain false
  end.
Definition takes (most : bool) (xs : list thing) (u : update) (row : list thing) : bit_formula :=
  and_also (fits_bits most xs (pattern u) row)
    (fun _ => grounded_now most (matched (pattern u) row ++ xs) (condition u)).

Definition assigned (xs : list thing) (u : update) (row : list thing) (t : term) : possible :=
  possibly_now (matched (pattern u) row ++ xs) t.

Fixpoint relation_bits (most : bool) (xs : list thing) (us : list update) (r : symbol) (row : list thing)
    (before : bit_formula) : bit_formula :=
  match us with
  | [] => before
  | u :: us' =>
      relation_bits most xs us' r row
        (if Pos.eqb (changed u) r then
           match change u with
           | Insert => or_else before (fun _ => takes most xs u row)
           | Remove => and_also before (fun _ => opposite (takes (negb most) xs u row))
           | Assign _ => before
           end
         else before)
  end.
Fixpoint function_bits (most : bool) (xs : list thing) (us : list update) (f : symbol) (row : list thing) (x : thing)
    (before : bit_formula) : bit_formula :=
  match us with
  | [] => before
  | u :: us' =>
      function_bits most xs us' f row x
        (if Pos.eqb (changed u) f then
           match change u with
           | Assign t =>
               either (and_also (takes most xs u row) (fun _ => equal most (surely x) (assigned xs u row t)))
                 (and_also before (fun _ => opposite (takes (negb most) xs u row)))
           | _ => before
           end
         else before)
  end.

(** Whether everything that a step may assign to a function is of its sort. *)
Definition assigns_within (xs : list thing) (f : symbol) (t : sort) (row : list thing) (u : update) : bool :=
  if Pos.eqb (changed u) f then
    match change u with
    | Assign e =>
        match takes true xs u row with
        | Plain false => true
        | _ =>
            match assigned xs u row e with
            | Some cs => forallb (fun c => existsb (same (snd c)) (elements P I t)) cs
            | None => false
            end
        end
    | _ => true
    end
  else true.

Definition functions_of (w : world M) (f : symbol) : list thing -> thing :=
  if changes P f then function_now w f else function_in I f.
Definition relations_of (w : world M) (r : symbol) (row : list thing) : Prop :=
  (if changes P r then relation_now w r else fun row => relation_in I r row = true) row.
Definition described (w : world M) (s : bits) : Prop :=
  describes P I (changes P) known s (functions_of w) (relations_of w).

Section Step.
Variable w : world M.
Variable s : bits.
Hypothesis D : described w s.

Lemma grounded_now_stands : forall most xs f, stands most s (grounded_now most xs f) (true_now P M w xs f).
Proof. intros most xs f. exact (grounded_stands P I (changes P) known s _ _ D f most xs). Qed.
Lemma possibly_now_among : forall xs t, among s (possibly_now xs t) (value_now P M w xs t).
Proof. intros xs t. exact (possibly_among P I (changes P) known s _ _ D xs t). Qed.

Lemma among_surely : forall x, among s (surely x) x.
Proof. intros x. exists (Plain true). simpl. auto. Qed.

Lemma fits_bits_stand : forall most xs p row, stands most s (fits_bits most xs p row) (fits P M w xs p row).
Proof.
  intros most xs. induction p as [|[t|] p IH]; intros [|x row]; cbn [fits_bits fits]; auto;
    try solve [destruct most; simpl; trivial; try discriminate; intros []].
  apply and_also_stands; auto. apply equal_stands; [apply among_surely|apply possibly_now_among].
Qed.
Lemma takes_stands : forall most xs u row, stands most s (takes most xs u row) (takes_place P M w xs u row).
Proof.
  intros most xs u row. apply and_also_stands; [apply fits_bits_stand|apply grounded_now_stands].
Qed.

Lemma relation_bits_stand : forall most xs r row us before B, stands most s before B ->
  stands most s (relation_bits most xs us r row before) (relation_after P M w xs us r row B).
Proof.
  intros most xs r row. induction us as [|u us IH]; intros before B H; simpl; trivial.
  apply IH. destruct (Pos.eqb (changed u) r); trivial. destruct (change u); trivial.
  - apply or_else_stands; trivial. apply takes_stands.
  - apply and_also_stands; trivial. apply opposite_stands, takes_stands.
Qed.

Lemma either_stands : forall most g h A B,
  stands most s g A -> stands most s h B -> stands most s (either g h) (A \/ B).
Proof. intros [] g h A B; simpl; rewrite either_is, orb_true_iff; tauto. Qed.

Lemma function_bits_stand : forall most xs f row x us before B, stands most s before (B x) ->
  stands most s (function_bits most xs us f row x before) (function_after P M w xs us f row B x).
Proof.
  intros most xs f row x. induction us as [|u us IH]; intros before B H; simpl; trivial.
  apply IH. destruct (Pos.eqb (changed u) f); trivial. destruct (change u) as [| |t]; trivial.
  apply either_stands.
  - apply and_also_stands; [apply takes_stands|].
    apply equal_stands; [apply among_surely|apply possibly_now_among].
  - apply (stands_for most s _ (B x /\ ~ takes_place P M w xs u row)); [tauto|].
    apply and_also_stands; trivial. apply opposite_stands, takes_stands.
Qed.

(** The value after a step is one. *)
Lemma after_is_one : forall xs f row us (B : thing -> Prop), (forall x y, B x -> B y -> x = y) ->
  forall x y, function_after P M w xs us f row B x -> function_after P M w xs us f row B y -> x = y.
Proof.
  intros xs f row. induction us as [|u us IH]; intros B U; simpl; trivial.
  apply IH. destruct (Pos.eqb (changed u) f); trivial. destruct (change u) as [| |t]; trivial.
  intros x y [[T ->]|[T X]] [[T' ->]|[T' Y]]; tauto || auto.
Qed.

Lemma after_is_sorted : forall xs f row t us (B : thing -> Prop),
  (forall x, B x -> In x (elements P I t)) -> forallb (assigns_within xs f t row) us = true ->
  forall x, function_after P M w xs us f row B x -> In x (elements P I t).
Proof.
  intros xs f row t. induction us as [|u us IH]; intros B U A; simpl in *; trivial.
  apply andb_true_iff in A. destruct A as [A As]. apply IH; trivial. unfold assigns_within in A.
  destruct (Pos.eqb (changed u) f); trivial. destruct (change u) as [| |e]; trivial.
  intros x [[T ->]|[T X]]; auto.
  pose proof (takes_stands true xs u row T) as E.
  pose proof (possibly_now_among (matched (pattern u) row ++ xs) e) as V.
  fold (assigned xs u row e) in V.
  destruct (takes true xs u row) as [[]| | |]; try discriminate E;
    (destruct (assigned xs u row e) as [cs|]; [|discriminate A]; destruct V as (g & i & _);
     rewrite forallb_forall in A; specialize (A _ i); apply existsb_exists in A; destruct A as (y & j & q);
     apply same_is in q; simpl in q; rewrite q; exact j).
Qed.
End Step.
End After.

(** ** All that a step asks *)

Section Conditions.
Variable P : protocol.
Variable I : instance.
Variable known : symbol -> list thing -> option thing -> status.
Let M := structure_of P I.

Fixpoint rows (ss : list sort) : list (list thing) :=
  match ss with
  | [] => [[]]
  | s :: ss' => flat_map (fun x => map (cons x) (rows ss')) (elements P I s)
  end.
Lemma rows_all : forall ss row, Forall2 (of_sort M) ss row -> In row (rows ss).
Proof.
  intros ss row H. induction H as [|s x ss row i F IH]; simpl; auto.
  apply in_flat_map. exists x. split; trivial. apply in_map, IH.
Qed.

Definition relation_conditions (xs : list thing) (us : list update) (r : symbol) (row : list thing) :=
  match known r row None with
  | Open => []
  | st => demand st (relation_bits P I known true xs us r row (literal true st))
            (relation_bits P I known false xs us r row (literal false st))
  end.
Definition value_conditions (xs : list thing) (us : list update) (f : symbol) (row : list thing) (x : thing) :=
  match known f row (Some x) with
  | Open => []
  | st => demand st (function_bits P I known true xs us f row x (literal true st))
            (function_bits P I known false xs us f row x (literal false st))
  end.
Definition function_conditions (xs : list thing) (us : list update) (f : symbol) (t : sort) (row : list thing) :=
  (if forallb (assigns_within P I known xs f t row) us then [] else [Need (Plain false)])
  ++ flat_map (value_conditions xs us f row) (elements P I t).
Definition conditions_on (xs : list thing) (us : list update) (d : declaration) : list condition_on_bits :=
  if mutable d then
    match result d with
    | None => flat_map (relation_conditions xs us (declared d)) (rows (arguments d))
    | Some t => flat_map (function_conditions xs us (declared d) t) (rows (arguments d))
    end
  else [].

(** What a step does not mention stays, whatever the step: that is worked out once. *)
Definition staying : list (declaration * list condition_on_bits) :=
  map (fun d => (d, conditions_on [] [] d)) (declarations P).
Definition touched (us : list update) (d : declaration) : bool :=
  existsb (fun u => Pos.eqb (changed u) (declared d)) us.
Definition conditions_after (stay : list (declaration * list condition_on_bits)) (xs : list thing) (us : list update) :=
  flat_map (fun e => if touched us (fst e) then conditions_on xs us (fst e) else snd e) stay.

Lemma relation_untouched : forall r us, existsb (fun u => Pos.eqb (changed u) r) us = false ->
  forall most xs row before, relation_bits P I known most xs us r row before = before.
Proof.
  intros r. induction us as [|u us IH]; simpl; trivial. intros E most xs row before.
  apply orb_false_iff in E. destruct E as [e E]. rewrite e. apply IH, E.
Qed.
Lemma function_untouched : forall f us, existsb (fun u => Pos.eqb (changed u) f) us = false ->
  forall most xs row x before, function_bits P I known most xs us f row x before = before.
Proof.
  intros f. induction us as [|u us IH]; simpl; trivial. intros E most xs row x before.
  apply orb_false_iff in E. destruct E as [e E]. rewrite e. apply IH, E.
Qed.
Lemma assigns_untouched : forall f us, existsb (fun u => Pos.eqb (changed u) f) us = false ->
  forall xs t row, forallb (assigns_within P I known xs f t row) us = true.
Proof.
  intros f. induction us as [|u us IH]; simpl; trivial. intros E xs t row.
  apply orb_false_iff in E. destruct E as [e E]. unfold assigns_within at 1. rewrite e. apply IH, E.
Qed.

Lemma conditions_untouched : forall us d, touched us d = false ->
  forall xs, conditions_on xs us d = conditions_on [] [] d.
Proof.
  intros us d E xs. unfold conditions_on. destruct (mutable d); trivial. destruct (result d) as [t|];
    apply flat_map_ext; intros row.
  - unfold function_conditions. rewrite (assigns_untouched _ us E). f_equal. apply flat_map_ext. intros x.
    unfold value_conditions.
    destruct (known (declared d) row (Some x)); rewrite ?(function_untouched _ us E); reflexivity.
  - unfold relation_conditions.
    destruct (known (declared d) row None); rewrite ?(relation_untouched _ us E); reflexivity.
Qed.

Lemma conditions_each : forall xs us s s' d,
  forallb (met s s') (conditions_after staying xs us) = true -> In d (declarations P) ->
  forallb (met s s') (conditions_on xs us d) = true.
Proof.
  intros xs us s s' d H i. rewrite forallb_forall in H |- *. intros c j. apply H.
  apply in_flat_map. exists (d, conditions_on [] [] d). split.
  - apply in_map_iff. exists d. auto.
  - simpl. destruct (touched us d) eqn:E; trivial. rewrite <- (conditions_untouched us d E xs). exact j.
Qed.

Lemma relation_declared : forall r ss, changes P r = true -> sorts_of_relation P r = Some ss ->
  exists d, In d (declarations P) /\ declared d = r /\ mutable d = true /\ result d = None /\ arguments d = ss.
Proof.
  intros r ss c e. unfold changes, sorts_of_relation, declaration_of in *.
  destruct (find _ (declarations P)) as [d|] eqn:E; [|discriminate]. apply find_some in E. destruct E as [i q].
  apply Pos.eqb_eq in q. destruct (result d) as [t|] eqn:R; [discriminate|]. injection e as <-. exists d. auto 6.
Qed.
Lemma function_declared : forall f ss t, sorts_of_function P f = Some (ss, t) ->
  exists d, In d (declarations P) /\ declared d = f /\ mutable d = changes P f /\ result d = Some t
            /\ arguments d = ss.
Proof.
  intros f ss t e. unfold changes, sorts_of_function, declaration_of in *.
  destruct (find _ (declarations P)) as [d|] eqn:E; [|discriminate]. apply find_some in E. destruct E as [i q].
  apply Pos.eqb_eq in q. destruct (result d) as [t'|] eqn:R; [|discriminate]. injection e as <- <-. exists d. auto 6.
Qed.

Lemma agrees_for : forall st s A B, (A <-> B) -> agrees st s A -> agrees st s B.
Proof. intros [] s A B H; simpl; tauto. Qed.

Lemma met_of : forall X (f : X -> list condition_on_bits) xs s s' x,
  forallb (met s s') (flat_map f xs) = true -> In x xs -> forallb (met s s') (f x) = true.
Proof.
  intros X f xs s s' x H i. rewrite forallb_forall in H |- *. intros c j. apply H, in_flat_map. eauto.
Qed.

Theorem step_described : forall w s a xs w' s',
  described P I known w s -> leads_to P M w a xs w' ->
  forallb (met s s') (conditions_after staying xs (updates a)) = true -> described P I known w' s'.
Proof.
  intros w s a xs w' s' D [LR LF] C. split.
  - intros f row c. unfold functions_of. rewrite c. reflexivity.
  - intros r row c. unfold relations_of. rewrite c. tauto.
  - intros r ss row c e i. destruct (relation_declared r ss c e) as (d & j & <- & m & n & <-).
    apply (conditions_each _ _ _ _ _ C) in j. unfold conditions_on in j. rewrite m, n in j.
    apply sorted_row_is in i. pose proof (met_of _ _ _ _ _ row j (rows_all _ _ i)) as K.
    unfold relation_conditions in K. unfold relations_of. rewrite c.
    apply (agrees_for _ _ (relation_after P M w xs (updates a) (declared d) row (relation_now w (declared d) row))).
    { symmetry. apply (LR _ (arguments d)); trivial. }
    pose proof (known_relation _ _ _ _ _ _ _ D _ _ row c e) as A. unfold relations_of in A. rewrite c in A.
    apply sorted_row_is in i. specialize (A i).
    destruct (known (declared d) row None) as [| | |k|k]; try exact Logic.I;
      (eapply demand_met; [| |exact K];
       apply (relation_bits_stand _ _ _ _ _ D); apply (literal_stands _ _ _ _ A)).
  - intros f ss t row c e i. destruct (function_declared f ss t e) as (d & j & <- & m & n & <-).
    apply (conditions_each _ _ _ _ _ C) in j. unfold conditions_on in j. rewrite m, n, c in j.
    apply sorted_row_is in i. pose proof (met_of _ _ _ _ _ row j (rows_all _ _ i)) as K.
    unfold function_conditions in K. unfold functions_of. rewrite c.
    destruct (forallb (assigns_within P I known xs (declared d) t row) (updates a)) eqn:W; [|discriminate K].
    refine (after_is_sorted P I known w s D xs (declared d) row t (updates a) _ _ W _ (LF _ _ _ row e c i)).
    intros x ->. pose proof (sorted_function _ _ _ _ _ _ _ D _ _ t row c e) as A.
    unfold functions_of in A. rewrite c in A. apply A, sorted_row_is, i.
  - intros f ss t row x c e i v. destruct (function_declared f ss t e) as (d & j & <- & m & n & <-).
    apply (conditions_each _ _ _ _ _ C) in j. unfold conditions_on in j. rewrite m, n, c in j.
    apply sorted_row_is in i. pose proof (met_of _ _ _ _ _ row j (rows_all _ _ i)) as K.
    unfold function_conditions in K. unfold functions_of. rewrite c.
    rewrite forallb_app in K. apply andb_true_iff in K. destruct K as [_ K].
    pose proof (met_of _ _ _ _ _ x K v) as V. unfold value_conditions in V.
    set (B := fun y => y = function_now w (declared d) row).
    apply (agrees_for _ _ (function_after P M w xs (updates a) (declared d) row B x)).
    { pose proof (LF _ _ _ row e c i) as Y. split; [|intros <-; exact Y].
      intros X. apply (after_is_one P I w xs (declared d) row (updates a) B); trivial. unfold B. congruence. }
    pose proof (known_function _ _ _ _ _ _ _ D _ _ t row x c e) as A. unfold functions_of in A. rewrite c in A.
    apply sorted_row_is in i. specialize (A i v).
    assert (A' : agrees (known (declared d) row (Some x)) s (B x)).
    { apply (agrees_for _ _ _ _ (conj (@eq_sym _ _ _) (@eq_sym _ _ _)) A). }
    destruct (known (declared d) row (Some x)) as [| | |k|k]; try exact Logic.I;
      (eapply demand_met; [| |exact V];
       apply (function_bits_stand _ _ _ _ _ D); apply (literal_stands _ _ _ _ A')).
Qed.
End Conditions.
