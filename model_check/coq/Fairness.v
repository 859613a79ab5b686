(** What happens in the end: fair runs, and what has to be proved of them.

    Read the first part to know what a theorem about liveness says. The conditions are those that
    [carnet_check/obligations/liveness.py] writes, for properties without parameters; [Liveness.v] proves that they
    suffice. *)
From Coq Require Import List Bool PeanoNat PArith.
Import ListNotations.
From Carnet Require Import Logic Checker Protocol Obligations.

(** ** What is said *)

(** An action that is to be taken fairly: which one of the protocol's it is, and which of its steps are meant (a formula
    over its parameters; without one, all). [strongly]: it is taken even if others close it again and again. *)
Record fairness := { which : nat; meant : option formula; strongly : bool }.

(** Whenever [trigger] holds, [response] holds then or later, if the actions of [fair] are taken fairly. *)
Record liveness := { trigger : formula; response : formula; fair : list fairness }.

(** The steps of an action for which a condition holds. *)
Definition limited (a : action) (condition : formula) : action :=
  Build_action (parameters a) (drawn a) (guards a ++ [condition]) (updates a).

Section Said.
Variable P : protocol.

Definition fair_part (f : fairness) : option action :=
  match nth_error (actions P) (which f), meant f with
  | Some a, Some m => Some (limited a m)
  | a, None => a
  | None, _ => None
  end.

Variable M : structure.

(** An action is open where a step of it can be taken that changes something, and taken by such a step. *)
Definition is_open (a : action) (w : world M) : Prop :=
  exists xs, enabled P M w a xs /\ ~ leads_to P M w a xs w.
Definition is_taken (a : action) (w w' : world M) : Prop :=
  exists xs, enabled P M w a xs /\ leads_to P M w a xs w' /\ ~ leads_to P M w a xs w.

(** A run goes on for ever; it may stay where it is. *)
Record is_run (s : nat -> world M) : Prop := {
  run_decided : forall i, two_valued (during P M (s i));
  run_begins : first_state P M (s 0);
  run_goes_on : forall i, s (S i) = s i \/ step P M (s i) (s (S i)) }.

Variable s : nat -> world M.

(** Weak fairness: it is not open for ever without being taken. *)
Definition weakly_fair (a : action) : Prop :=
  forall n, ~ forall i, n <= i -> is_open a (s i) /\ ~ is_taken a (s i) (s (S i)).
(** Strong fairness: it is not open again and again without being taken. *)
Definition strongly_fair (a : action) : Prop :=
  forall n, (forall i, n <= i -> ~ is_taken a (s i) (s (S i))) ->
  ~ forall m, n <= m -> ~ forall i, m <= i -> ~ is_open a (s i).
Definition fairly (f : fairness) : Prop :=
  forall a, fair_part f = Some a -> if strongly f then strongly_fair a else weakly_fair a.
End Said.

(** What a theorem about liveness says. In classical mathematics, "not always not" is "at some time". *)
Definition in_the_end (P : protocol) (threat : list formula) (live : liveness) : Prop :=
  forall M, interprets (rigid P) M ->
  List.Forall (true_in M (nothing_named M) []) (axioms P ++ threat) ->
  forall s, is_run P M s -> (forall f, In f (fair live) -> fairly P M s f) ->
  forall n, true_now P M (s n) [] (trigger live) ->
  ~ forall i, n <= i -> ~ true_now P M (s i) [] (response live).

(** ** Conditions *)

Fixpoint all_of (fs : list formula) : formula :=
  match fs with [] => Const true | [f] => f | f :: fs' => And f (all_of fs') end.
Fixpoint one_of (fs : list formula) : formula :=
  match fs with [] => Const false | [f] => f | f :: fs' => Or f (one_of fs') end.
Fixpoint some (ss : list sort) (f : formula) : formula :=
  match ss with [] => f | s :: ss' => Exists s (some ss' f) end.

(** That an action can be taken; its parameters are bound, the first one outermost. *)
Definition turned (n : nat) : list term := map Bound (rev (seq 0 n)).
Definition possible (a : action) : formula :=
  some (parameters a) (substitute (turned (length (parameters a))) (all_of (guards a ++ drawn_apart a))).

Section Conditions.
Variable P : protocol.
Variable claims : list formula.
Variable live : liveness.

Definition waiting : formula := And (trigger live) (Not (response live)).

Definition leads (a : action) (before after : formula) : obligation :=
  Build_obligation (parameters a)
    (axioms P ++ claims ++ [before] ++ guards a ++ drawn_apart a
     ++ [Not (precondition (length (parameters a)) (updates a) after)]).

Definition at_stage (a : action) (later : list action) : formula :=
  all_of (waiting :: possible a :: map (fun b => Not (possible b)) later).
Definition beyond (stages : list action) : formula := one_of (response live :: map possible stages).

(** The parts of each action: what is meant of one that is to be taken fairly, and the rest. *)
Definition parts (i : nat) (a : action) : list action :=
  match find (fun f => which f =? i) (fair live) with
  | Some f => match meant f with Some m => [limited a m; limited a (Not m)] | None => [a] end
  | None => [a]
  end.
Definition rest (f : fairness) (a : action) : list action :=
  match meant f with Some m => [limited a (Not m)] | None => [] end.
Fixpoint others_from (i : nat) (f : fairness) (acts : list action) : list action :=
  match acts with
  | [] => []
  | a :: acts' => (if which f =? i then rest f a else parts i a) ++ others_from (S i) f acts'
  end.
Definition others (f : fairness) : list action := others_from 0 f (actions P).

Fixpoint stages_of (fs : list fairness) : option (list (fairness * action)) :=
  match fs with
  | [] => Some []
  | f :: fs' =>
      match fair_part P f, stages_of fs' with Some a, Some more => Some ((f, a) :: more) | _, _ => None end
  end.

(** [first]: there is no earlier stage to go back to. *)
Fixpoint moves (first : bool) (stages : list (fairness * action)) : list obligation :=
  match stages with
  | [] => []
  | (f, a) :: more =>
      leads a (at_stage a (map snd more)) (beyond (map snd more))
      :: (if first || strongly f then []
          else map (fun b => leads b (at_stage a (map snd more)) (beyond (a :: map snd more))) (others f))
      ++ moves false more
  end.

Definition conditions (stages : list (fairness * action)) : list obligation :=
  Build_obligation [] (axioms P ++ claims ++ [waiting] ++ [Not (one_of (map (fun s => possible (snd s)) stages))])
  :: moves true stages
  ++ map (fun a => leads a waiting (Or (trigger live) (response live))) (actions P).

Definition stated_of_liveness (stages : list (fairness * action)) : bool :=
  well_stated P [] [] claims && sorted P [] (trigger live) && sorted P [] (response live)
  && forallb (fun s => forallb (sorted_action P) (snd s :: others (fst s)) && sorted P [] (possible (snd s))) stages.

Definition certified_of_liveness (certificates : list refutation) : bool :=
  match stages_of (fair live) with
  | Some stages => stated_of_liveness stages && all2 (accepts (whole P)) (conditions stages) certificates
  | None => false
  end.
End Conditions.
