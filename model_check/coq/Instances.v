(** Finite instances as data, and formulas evaluated on them once for all states: a formula becomes one over bits. *)
From Coq Require Import List Bool PArith.
Import ListNotations.
From Carnet Require Import Logic Protocol Bits.

(** ** Elements and instances *)

(** An element of a sort of the protocol's own, or a member of an enumeration. *)
Inductive thing := Thing (number : positive) | Named (m : member).

Definition same (a b : thing) : bool :=
  match a, b with
  | Thing m, Thing n | Named m, Named n => Pos.eqb m n
  | _, _ => false
  end.
Fixpoint same_row (xs ys : list thing) : bool :=
  match xs, ys with
  | [], [] => true
  | x :: xs', y :: ys' => same x y && same_row xs' ys'
  | _, _ => false
  end.

(** What never changes: the elements of each sort, the rows of relations, and the values of functions. *)
Record instance := {
  things : list (sort * list thing);
  facts : list (symbol * list (list thing));
  values : list (symbol * list (list thing * thing));
  somebody : thing }.

Definition listed {A} (s : positive) (table : list (positive * list A)) : list A :=
  match find (fun entry => Pos.eqb (fst entry) s) table with Some (_, found) => found | None => [] end.

Section Instance.
Variable P : protocol.
Variable I : instance.

Definition elements (s : sort) : list thing :=
  match members_of P s with Some ms => map Named ms | None => listed s (things I) end.
Definition function_in (f : symbol) (row : list thing) : thing :=
  match find (fun entry => same_row (fst entry) row) (listed f (values I)) with
  | Some (_, x) => x
  | None => somebody I
  end.
Definition relation_in (r : symbol) (row : list thing) : bool := existsb (same_row row) (listed r (facts I)).

(** The structure that an instance describes. *)
Definition structure_of : structure :=
  Build_structure thing (fun s x => In x (elements s)) function_in (fun r row => relation_in r row = true)
    Named (somebody I).
End Instance.

Lemma same_is : forall a b, same a b = true <-> a = b.
Proof.
  intros [m|m] [n|n]; simpl; rewrite ?Pos.eqb_eq; split; intros H; congruence.
Qed.
Lemma same_row_is : forall xs ys, same_row xs ys = true <-> xs = ys.
Proof.
  induction xs as [|x xs IH]; intros [|y ys]; simpl; split; intros H; try congruence.
  - apply andb_true_iff in H. destruct H as [a b]. apply same_is in a. apply IH in b. congruence.
  - injection H as -> ->. apply andb_true_iff. split; [apply same_is|apply IH]; trivial.
Qed.
(** ** Terms and formulas *)

(** What a term may stand for, and where; nothing: anything. *)
Definition possible := option (list (bit_formula * thing)).
Definition possible_row := option (list (bit_formula * list thing)).

Definition surely (x : thing) : possible := Some [(Plain true, x)].

Definition among (s : bits) {X} (cs : option (list (bit_formula * X))) (x : X) : Prop :=
  match cs with None => True | Some cs' => exists g, In (g, x) cs' /\ eval s g = true end.

Definition in_front (x : bit_formula * thing) (row : bit_formula * list thing) : bit_formula * list thing :=
  (both (fst x) (fst row), snd x :: snd row).
Fixpoint row_of (ps : list possible) : possible_row :=
  match ps with
  | [] => Some [(Plain true, [])]
  | p :: ps' =>
      match p, row_of ps' with
      | Some xs, Some rows => Some (flat_map (fun x => map (in_front x) rows) xs)
      | _, _ => None
      end
  end.

(** What holds for a thing that is one of several, if [f] says where it does for each of them. *)
Definition whichever {X} (most : bool) (cs : option (list (bit_formula * X))) (f : X -> bit_formula) : bit_formula :=
  match cs with
  | None => Plain most
  | Some cs' =>
      if most then for_some (fun c => and_also (fst c) (fun _ => f (snd c))) cs'
      else for_all (fun c => or_else (opposite (fst c)) (fun _ => f (snd c))) cs'
  end.

Lemma whichever_stands : forall X most s (cs : option (list (bit_formula * X))) f x (A : Prop),
  among s cs x -> (forall g, In (g, x) (match cs with Some cs' => cs' | None => [] end) -> stands most s (f x) A) ->
  stands most s (whichever most cs f) A.
Proof.
  intros X most s [cs|] f x A M H; simpl in *.
  - destruct M as (g & i & e). specialize (H g i). destruct most; simpl in *.
    + intros a. rewrite for_some_is. apply existsb_exists. exists (g, x). split; trivial.
      rewrite and_also_is. simpl. rewrite e. simpl. auto.
    + rewrite for_all_is, forallb_forall. intros E. specialize (E _ i). simpl in E.
      rewrite or_else_is, opposite_is, e in E. auto.
  - destruct most; simpl; trivial. discriminate.
Qed.

Lemma row_of_among : forall s ps xs, Forall2 (among s) ps xs -> among s (row_of ps) xs.
Proof.
  intros s ps xs H. induction H as [|p x ps xs M Ms IH]; simpl.
  - exists (Plain true). auto.
  - destruct p as [p|]; simpl; trivial. destruct (row_of ps) as [rows|]; simpl; trivial.
    destruct M as (g & i & e). destruct IH as (h & j & e').
    exists (both g h). split; [|rewrite both_is, e, e'; reflexivity].
    apply in_flat_map. exists (g, x). split; trivial. apply in_map_iff. exists (h, xs). auto.
Qed.

Section Reading.
Variable P : protocol.
Variable I : instance.
Variable changing : symbol -> bool.                               (** what a state gives a value to *)
Variable known : symbol -> list thing -> option thing -> status.  (** what is known of facts, and of values *)

Fixpoint sorted_row (ss : list sort) (row : list thing) : bool :=
  match ss, row with
  | [], [] => true
  | s :: ss', x :: row' => existsb (same x) (elements P I s) && sorted_row ss' row'
  | _, _ => false
  end.

Lemma sorted_row_is : forall ss row,
  sorted_row ss row = true <-> Forall2 (fun s x => In x (elements P I s)) ss row.
Proof.
  induction ss as [|s ss IH]; intros [|x row]; simpl; split; intros H; try discriminate; auto; try solve [inversion H].
  - apply andb_true_iff in H. destruct H as [i H]. apply existsb_exists in i. destruct i as (y & i & e).
    apply same_is in e. subst y. constructor; trivial. apply IH, H.
  - inversion H as [|? ? ? ? i F]; subst. apply andb_true_iff. split; [|apply IH, F].
    apply existsb_exists. exists x. split; trivial. apply same_is. reflexivity.
Qed.

Definition read_relation (most : bool) (r : symbol) (row : list thing) : bit_formula :=
  if changing r then
    match sorts_of_relation P r with
    | Some ss => if sorted_row ss row then literal most (known r row None) else Plain most
    | None => Plain most
    end
  else Plain (relation_in I r row).

(** The values that a function may have at a row. *)
Definition candidates (f : symbol) (row : list thing) (s : sort) : list (bit_formula * thing) :=
  flat_map (fun x => match literal true (known f row (Some x)) with Plain false => [] | g => [(g, x)] end)
    (elements P I s).
Definition read_function (f : symbol) (row : list thing) : possible :=
  if changing f then
    match sorts_of_function P f with
    | Some (ss, s) => if sorted_row ss row then Some (candidates f row s) else None
    | None => None
    end
  else surely (function_in I f row).

Definition under (g : bit_formula) (x : bit_formula * thing) : bit_formula * thing := (both g (fst x), snd x).
Fixpoint joined (cs : list (bit_formula * list thing)) (f : list thing -> possible) : possible :=
  match cs with
  | [] => Some []
  | (g, row) :: cs' =>
      match f row, joined cs' f with Some xs, Some more => Some (map (under g) xs ++ more) | _, _ => None end
  end.

Fixpoint possibly (env : list thing) (t : term) : possible :=
  match t with
  | Bound k => surely (nth k env (somebody I))
  | Eigen _ => surely (somebody I)
  | Member m => surely (Named m)
  | Apply f ts =>
      match row_of (map (possibly env) ts) with Some rows => joined rows (read_function f) | None => None end
  end.

Definition equal (most : bool) (a b : possible) : bit_formula :=
  whichever most a (fun x => whichever most b (fun y => Plain (same x y))).

Fixpoint grounded (most : bool) (env : list thing) (f : formula) : bit_formula :=
  match f with
  | Const b => Plain b
  | Holds r ts => whichever most (row_of (map (possibly env) ts)) (read_relation most r)
  | Equal a b => equal most (possibly env a) (possibly env b)
  | Not g => opposite (grounded (negb most) env g)
  | And g h => and_also (grounded most env g) (fun _ => grounded most env h)
  | Or g h => or_else (grounded most env g) (fun _ => grounded most env h)
  | Implies g h => or_else (opposite (grounded (negb most) env g)) (fun _ => grounded most env h)
  | Choose c g h =>
      and_also (or_else (opposite (grounded (negb most) env c)) (fun _ => grounded most env g))
        (fun _ => or_else (grounded most env c) (fun _ => grounded most env h))
  | Forall s g => for_all (fun x => grounded most (x :: env) g) (elements P I s)
  | Exists s g => for_some (fun x => grounded most (x :: env) g) (elements P I s)
  end.

(** *** They say what is true *)

Variable s : bits.
Variable F : symbol -> list thing -> thing.
Variable R : symbol -> list thing -> Prop.

(** The structure of the instance, with values for what changes. *)
Definition seen : structure := Build_structure thing (fun s x => In x (elements P I s)) F R Named (somebody I).

Record describes : Prop := {
  rigid_function : forall f row, changing f = false -> F f row = function_in I f row;
  rigid_relation : forall r row, changing r = false -> (R r row <-> relation_in I r row = true);
  known_relation : forall r ss row, changing r = true -> sorts_of_relation P r = Some ss ->
    sorted_row ss row = true -> agrees (known r row None) s (R r row);
  sorted_function : forall f ss t row, changing f = true -> sorts_of_function P f = Some (ss, t) ->
    sorted_row ss row = true -> In (F f row) (elements P I t);
  known_function : forall f ss t row x, changing f = true -> sorts_of_function P f = Some (ss, t) ->
    sorted_row ss row = true -> In x (elements P I t) -> agrees (known f row (Some x)) s (F f row = x) }.

Hypothesis D : describes.
Let nobody : nat -> thing := fun _ => somebody I.

Lemma read_relation_stands : forall most r row, stands most s (read_relation most r row) (R r row).
Proof.
  intros most r row. unfold read_relation.
  assert (any : forall A, stands most s (Plain most) A) by (intros A; destruct most; simpl; trivial; discriminate).
  destruct (changing r) eqn:c.
  - destruct (sorts_of_relation P r) as [ss|] eqn:e; trivial.
    destruct (sorted_row ss row) eqn:w; trivial. apply literal_stands. apply (known_relation D) with ss; trivial.
  - destruct most; simpl; apply (rigid_relation D); trivial.
Qed.

Lemma read_function_among : forall f row, among s (read_function f row) (F f row).
Proof.
  intros f row. unfold read_function. destruct (changing f) eqn:c.
  - destruct (sorts_of_function P f) as [[ss t]|] eqn:e; simpl; trivial.
    destruct (sorted_row ss row) eqn:w; simpl; trivial.
    pose proof (sorted_function D f ss t row c e w) as i.
    pose proof (literal_stands true _ s _ (known_function D f ss t row _ c e w i) eq_refl) as L.
    exists (literal true (known f row (Some (F f row)))). split; trivial.
    apply in_flat_map. exists (F f row). split; trivial.
    destruct (literal true (known f row (Some (F f row)))) as [[]| | |]; simpl; auto. discriminate L.
  - simpl. rewrite (rigid_function D) by trivial. exists (Plain true). auto.
Qed.

Lemma joined_among : forall cs f row x, among s (Some cs) row -> among s (f row) x -> among s (joined cs f) x.
Proof.
  intros cs f row x (g & i & e) M. induction cs as [|[h other] cs IH]; simpl in i; [destruct i|]. simpl.
  destruct i as [i|i].
  - injection i as -> ->. destruct (f row) as [xs|]; simpl; trivial.
    destruct (joined cs f) as [more|]; simpl; trivial. destruct M as (k & j & e').
    exists (both g k). split; [|rewrite both_is, e, e'; reflexivity].
    apply in_app_iff. left. apply in_map_iff. exists (k, x). auto.
  - destruct (f other) as [xs|]; simpl; trivial. specialize (IH i).
    destruct (joined cs f) as [more|]; simpl in *; trivial. destruct IH as (k & j & e').
    exists k. split; trivial. apply in_app_iff. auto.
Qed.

Fixpoint possibly_among env t : among s (possibly env t) (value seen nobody env t).
Proof.
  destruct t as [k|n|m|f ts]; simpl; try solve [exists (Plain true); auto].
  assert (M : among s (row_of (map (possibly env) ts)) (map (value seen nobody env) ts)).
  { apply row_of_among. induction ts as [|t ts IH]; simpl; constructor; auto. }
  destruct (row_of (map (possibly env) ts)) as [rows|]; simpl; trivial.
  apply joined_among with (map (value seen nobody env) ts); trivial. apply read_function_among.
Qed.

Lemma equal_stands : forall most a b x y,
  among s a x -> among s b y -> stands most s (equal most a b) (x = y).
Proof.
  intros most a b x y Ma Mb. apply whichever_stands with x; trivial. intros _ _.
  apply whichever_stands with y; trivial. intros _ _.
  destruct most; simpl; apply same_is.
Qed.

Theorem grounded_stands : forall f most env,
  stands most s (grounded most env f) (true_in seen nobody env f).
Proof.
  induction f as [b|r ts|a b|g IHg|g IHg h IHh|g IHg h IHh|g IHg h IHh|c IHc g IHg h IHh|t g IHg|t g IHg];
    intros most env; simpl.
  - destruct most; simpl; trivial.
  - apply whichever_stands with (map (value seen nobody env) ts).
    + apply row_of_among. induction ts; simpl; constructor; trivial. apply possibly_among.
    + intros _ _. apply read_relation_stands.
  - apply equal_stands; apply possibly_among.
  - apply opposite_stands, IHg.
  - apply and_also_stands; auto.
  - apply or_else_stands; auto.
  - apply implies_stands; auto.
  - apply and_also_stands; [apply implies_stands|apply unless_stands]; auto.
  - apply (for_all_stands _ most s _ (fun x => true_in seen nobody (x :: env) g)). intros x _. apply IHg.
  - apply (for_some_stands _ most s _ (fun x => true_in seen nobody (x :: env) g)). intros x _. apply IHg.
Qed.
End Reading.
