(** The tutorial's protocol once more, written directly in Coq: the certified theorem holds of it.

    Nothing in the statement of [plain_secrecy] comes from Carnet: types, a record, and an inductive relation. Each of
    these moves is a step of [Handoff.handoff]: an example of the language meaning what one would write by hand. *)
From Coq Require Import List Bool PArith.
Import ListNotations.
From Carnet Require Import Logic Checker Protocol Obligations Induction Handoff.

Section Plain.
Variables Holder Key : Type.
Variable corrupt : Holder -> Prop.

(** ** By hand *)

Record state := State {
  away : Prop;
  link : Key;
  used : Key -> Prop;
  lent : Holder -> Key -> Prop;
  finished : Holder -> Key -> Prop;
  returned : Key -> Prop;
  resident : Holder -> Prop;
  learned : Holder -> Holder -> Prop }.

Definition first (s : state) : Prop :=
  ~ away s /\ (forall k, ~ used s k) /\ (forall h k, ~ lent s h k) /\ (forall h k, ~ finished s h k) /\
  (forall k, ~ returned s k) /\ (forall h, ~ resident s h) /\ (forall x y, ~ learned s x y).

Inductive moves (s : state) : state -> Prop :=
| lend : forall to key, ~ away s -> ~ used s key ->
    moves s {| away := True;
               link := key;
               used := fun k => used s k \/ k = key;
               lent := fun h k => lent s h k \/ (h = to /\ k = key);
               finished := finished s; returned := returned s; resident := resident s; learned := learned s |}
| load : forall me key, lent s me key -> ~ finished s me key -> link s = key ->
    moves s {| resident := fun h => resident s h \/ h = me;
               away := away s; link := link s; used := used s; lent := lent s; finished := finished s;
               returned := returned s; learned := learned s |}
| give_back : forall me key, lent s me key ->
    moves s {| finished := fun h k => finished s h k \/ (h = me /\ k = key);
               returned := fun k => returned s k \/ k = key;
               away := away s; link := link s; used := used s; lent := lent s; resident := resident s;
               learned := learned s |}
| take_back : away s -> returned s (link s) ->
    moves s {| resident := fun _ => False;
               away := False;
               link := link s; used := used s; lent := lent s; finished := finished s; returned := returned s;
               learned := learned s |}
| read : forall me other key, corrupt me -> lent s me key -> link s = key -> resident s other ->
    moves s {| learned := fun x y => learned s x y \/ (x = me /\ y = other);
               away := away s; link := link s; used := used s; lent := lent s; finished := finished s;
               returned := returned s; resident := resident s |}.

Inductive can_be : state -> Prop :=
| begins : forall s, first s -> can_be s
| goes_on : forall s s', can_be s -> moves s s' -> can_be s'.

(** ** The same as a structure and a world *)

Definition thing : Type := Holder + Key.

Section Somebody.
Variable nobody : thing.

Definition is_of (s : sort) (x : thing) : Prop :=
  match x with inl _ => s = sort_Holder | inr _ => s = sort_Key end.
Definition is_corrupt (r : symbol) (row : list thing) : Prop :=
  match row with [inl h] => r = sym_corrupt /\ corrupt h | _ => False end.

Definition M : structure := {|
  element := thing;
  of_sort := is_of;
  function := fun _ _ => nobody;
  relation := is_corrupt;
  denoted := fun _ => nobody;
  stray := nobody |}.

(** What a row is about follows from its sorts, where no two relations have the same. *)
Definition facts (s : state) (r : symbol) (row : list thing) : Prop :=
  match row with
  | [] => away s
  | [inr k] => if Pos.eqb r sym_used_key then used s k else returned s k
  | [inl h] => resident s h
  | [inl h; inr k] => if Pos.eqb r sym_lent then lent s h k else finished s h k
  | [inl x; inl y] => learned s x y
  | _ => False
  end.
Definition seen (s : state) : world M := World M (fun _ _ => inr (link s)) (facts s).

Lemma holders : forall x, is_of sort_Holder x -> exists h, x = inl h.
Proof. intros [h|k] X; [exists h; reflexivity|discriminate]. Qed.
Lemma keys : forall x, is_of sort_Key x -> exists k, x = inr k.
Proof. intros [h|k] X; [discriminate|exists k; reflexivity]. Qed.

(** Every row of a relation that changes, well-sorted, is one of these. *)
Inductive is_row : symbol -> list thing -> Prop :=
| row_away : is_row sym_away []
| row_used : forall k, is_row sym_used_key [inr k]
| row_returned : forall k, is_row sym_returned [inr k]
| row_resident : forall h, is_row sym_resident [inl h]
| row_lent : forall h k, is_row sym_lent [inl h; inr k]
| row_finished : forall h k, is_row sym_finished [inl h; inr k]
| row_learned : forall x y, is_row sym_learned [inl x; inl y].

Lemma rows : forall r ss row, sorts_of_relation handoff r = Some ss -> changes handoff r = true ->
  Forall2 is_of ss row -> is_row r row.
Proof.
  intros r ss row. unfold changes, sorts_of_relation, declaration_of.
  destruct (find _ (declarations handoff)) as [d|] eqn:Found; [|discriminate].
  apply find_some in Found as [Found Named]. apply Pos.eqb_eq in Named. intros Sorts Changes Sorted. simpl in Found.
  repeat (destruct Found as [<-|Found];
    [simpl in Named, Sorts, Changes; try discriminate; injection Sorts as <-; subst r|]); [..|destruct Found];
    repeat match goal with
    | S : Forall2 _ _ _ |- _ => inversion S; clear S; subst
    | X : is_of sort_Holder _ |- _ => destruct (holders _ X) as (? & ->); clear X
    | X : is_of sort_Key _ |- _ => destruct (keys _ X) as (? & ->); clear X
    end; constructor.
Qed.

Lemma link_alone : forall f ss s row, sorts_of_function handoff f = Some (ss, s) -> Forall2 is_of ss row ->
  f = sym_link /\ s = sort_Key /\ row = [].
Proof.
  intros f ss s row. unfold sorts_of_function, declaration_of.
  destruct (find _ (declarations handoff)) as [d|] eqn:Found; [|discriminate].
  apply find_some in Found as [Found Named]. apply Pos.eqb_eq in Named. intros Sorts Sorted. simpl in Found.
  repeat (destruct Found as [<-|Found];
    [simpl in Named, Sorts; try discriminate; injection Sorts as <- <-; subst f; inversion Sorted; auto|]).
  destruct Found.
Qed.

Ltac compare := cbn; unfold takes_place, true_now, value_now; cbn; intuition congruence.

Lemma moves_are_steps : forall s s', moves s s' -> step handoff M (seen s) (seen s').
Proof.
  assert (leads : forall s a xs s',
    (forall r row, is_row r row ->
       (facts s' r row <-> relation_after handoff M (seen s) xs (updates a) r row (facts s r row))) ->
    function_after handoff M (seen s) xs (updates a) sym_link [] (fun x => x = inr (link s)) (inr (link s')) ->
    leads_to handoff M (seen s) a xs (seen s')).
  { intros s a xs s' Facts Link. split.
    - intros r ss row Sorts Changes Sorted. exact (Facts r row (rows r ss row Sorts Changes Sorted)).
    - intros f ss t row Sorts _ Sorted. destruct (link_alone f ss t row Sorts Sorted) as (-> & _ & ->). exact Link. }
  intros s s' Move.
  destruct Move as [to key Home New|me key Lent Busy Opens|me key Lent|Away Returned|me other key C Lent Opens There].
  - exists action_lend, [inl to; inr key]. split; [simpl; tauto|]. split; [split; [|split]|].
    + repeat constructor.
    + intros g [<-|[<-|[]]]; assumption.
    + intros i j t [<-|[]] [<-|[]]; congruence.
    + apply leads.
      * intros r row Row. destruct Row; compare.
      * compare.
  - exists action_load, [inl me; inr key]. split; [simpl; tauto|]. split; [split; [|split]|].
    + repeat constructor.
    + intros g [<-|[<-|[]]]; cbn; auto. congruence.
    + intros i j t [].
    + apply leads.
      * intros r row Row. destruct Row; compare.
      * compare.
  - exists action_give_back, [inl me; inr key]. split; [simpl; tauto|]. split; [split; [|split]|].
    + repeat constructor.
    + intros g [<-|[]]; cbn; auto.
    + intros i j t [].
    + apply leads.
      * intros r row Row. destruct Row; compare.
      * compare.
  - exists action_take_back, []. split; [simpl; tauto|]. split; [split; [|split]|].
    + repeat constructor.
    + intros g [<-|[]]; cbn; auto.
    + intros i j t [].
    + apply leads.
      * intros r row Row. destruct Row; compare.
      * compare.
  - exists action_read, [inl me; inl other; inr key]. split; [simpl; tauto|]. split; [split; [|split]|].
    + repeat constructor.
    + intros g [<-|[<-|[]]]; cbn; auto. repeat split; auto. congruence.
    + intros i j t [].
    + apply leads.
      * intros r row Row. destruct Row; compare.
      * compare.
Qed.

Lemma first_is_first : forall s, first s -> first_state handoff M (seen s).
Proof.
  intros s (Home & New & Lent & Finished & Returned & Resident & Learned). split; [|split].
  - intros f ss t row Sorts _ Sorted. destruct (link_alone f ss t row Sorts Sorted) as (_ & -> & _). reflexivity.
  - intros r ss row Sorts Changes Sorted. destruct (rows r ss row Sorts Changes Sorted); cbn; firstorder.
  - intros f ss t row _ _ _. exact I.
Qed.

Lemma interprets_M : interprets (rigid handoff) M.
Proof.
  constructor; cbn; try discriminate. intros f ss s row Sorts Sorted. exfalso.
  destruct (changes handoff f) eqn:Changes; [discriminate|].
  destruct (link_alone f ss s row Sorts Sorted) as (-> & _). discriminate.
Qed.

Lemma can_be_reached : forall s, can_be s -> reached handoff M (seen s).
Proof.
  intros s Can. induction Can as [s F|s s' _ IH Move].
  - apply reached_first. exact (first_is_first s F).
  - apply (reached_by_step handoff M (seen s)); [exact IH|exact (moves_are_steps s s' Move)].
Qed.
End Somebody.

(** ** The theorem: if [x] has learned the data of an honest [y], [x] is [y] *)
Theorem plain_secrecy : (forall X : Prop, X \/ ~ X) ->
  forall s, can_be s -> forall x y, learned s x y -> ~ corrupt y -> x = y.
Proof.
  intros Middle s Can x y Learned Honest.
  assert (Assumed : List.Forall (true_in (M (inl x)) (nothing_named (M (inl x))) []) (axioms handoff ++ threat_theft)).
  { constructor; [exists (inl x); split; reflexivity|].
    constructor; [exists (inr (link s)); split; reflexivity|constructor]. }
  assert (Claim := always_classically Middle handoff threat_theft claim_secrecy secrecy (M (inl x))
    (interprets_M (inl x)) Assumed (seen (inl x) s) (can_be_reached (inl x) s Can)).
  assert (Same : inl x = inl y :> thing).
  { apply (Claim (inl x) eq_refl (inl y) eq_refl). split; [exact Learned|cbn; tauto]. }
  injection Same. auto.
Qed.
End Plain.
