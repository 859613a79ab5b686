(** What a specification means: states, steps and reachable states, on any structure.

    Read this file after [Logic.v] to know what a theorem of Carnet says. Budgets, saturation and the order in which
    engines try things are not here: they only take runs away. *)
From Coq Require Import List Bool PArith.
Import ListNotations.
From Carnet Require Import Logic.

(** ** The language *)

Inductive effect := Insert | Remove | Assign (result : term).

(** An update changes [changed] at the rows that [pattern] matches. An entry of the pattern is a term over the
    parameters, or nothing, which matches every element. [condition] and the result are read with the matched elements
    first (in the order of the pattern) and the parameters after them. *)
Record update := {
  changed : symbol;
  pattern : list (option term);
  condition : formula;
  change : effect }.

(** In guards, [Bound i] is parameter [i], counted from 0. [drawn]: the parameters whose values are drawn fresh; no two
    of one sort are the same. That a value was never used before is a guard. *)
Record action := {
  parameters : list sort;
  drawn : list nat;
  guards : list formula;
  updates : list update }.

(** [result]: the sort of a function; a relation has none. *)
Record declaration := {
  declared : symbol;
  arguments : list sort;
  result : option sort;
  mutable : bool }.

(** Rules are actions. In an initial value, [Bound i] is argument [i]; it may read only what never changes. *)
Record protocol := {
  declarations : list declaration;
  enumerations : list (sort * list member);
  axioms : list formula;
  initially : list (symbol * (formula + term));
  actions : list action }.

Section Names.
Variable P : protocol.

Definition declaration_of (s : symbol) : option declaration :=
  find (fun d => Pos.eqb (declared d) s) (declarations P).
Definition changes (s : symbol) : bool :=
  match declaration_of s with Some d => mutable d | None => false end.
Definition sorts_of_function (f : symbol) : option (list sort * sort) :=
  match declaration_of f with
  | Some d => match result d with Some s => Some (arguments d, s) | None => None end
  | None => None
  end.
Definition sorts_of_relation (r : symbol) : option (list sort) :=
  match declaration_of r with
  | Some d => match result d with Some _ => None | None => Some (arguments d) end
  | None => None
  end.
Definition sort_of_member (m : member) : option sort :=
  match find (fun e => existsb (Pos.eqb m) (snd e)) (enumerations P) with Some (s, _) => Some s | None => None end.
Definition members_of (s : sort) : option (list member) :=
  match find (fun e => Pos.eqb (fst e) s) (enumerations P) with Some (_, ms) => Some ms | None => None end.
Definition initial_value (s : symbol) : option (formula + term) :=
  match find (fun i => Pos.eqb (fst i) s) (initially P) with Some (_, v) => Some v | None => None end.

(** Everything that is declared, and what never changes. *)
Definition whole : signature :=
  Build_signature sorts_of_function sorts_of_relation sort_of_member members_of.
Definition rigid : signature :=
  Build_signature (fun f => if changes f then None else sorts_of_function f)
                  (fun r => if changes r then None else sorts_of_relation r) sort_of_member members_of.
End Names.

(** The elements that a pattern leaves open, in order. *)
Fixpoint matched {A} (p : list (option term)) (row : list A) : list A :=
  match p, row with
  | None :: p', x :: row' => x :: matched p' row'
  | Some _ :: p', _ :: row' => matched p' row'
  | _, _ => []
  end.

(** ** What it means *)

(** A state of the system gives a value to everything that changes. *)
Record world (M : structure) := World {
  function_now : symbol -> list (element M) -> element M;
  relation_now : symbol -> list (element M) -> Prop }.
Arguments function_now {M}.
Arguments relation_now {M}.

Section Meaning.
Variable P : protocol.
Variable M : structure.

(** The structure [M] with the values that a state gives. *)
Definition during (w : world M) : structure :=
  Build_structure (element M) (of_sort M)
    (fun f => if changes P f then function_now w f else function M f)
    (fun r => if changes P r then relation_now w r else relation M r)
    (denoted M) (stray M).

Definition nothing_named : nat -> element M := fun _ => stray M.
Definition value_now (w : world M) (xs : list (element M)) (t : term) : element M :=
  value (during w) nothing_named xs t.
Definition true_now (w : world M) (xs : list (element M)) (f : formula) : Prop :=
  true_in (during w) nothing_named xs f.

Definition well_sorted (w : world M) : Prop :=
  forall f ss s row, sorts_of_function P f = Some (ss, s) -> changes P f = true ->
    Forall2 (of_sort M) ss row -> of_sort M s (function_now w f row).

(** Whether an update with parameters [xs] takes place at [row]; all is read in the state before. *)
Fixpoint fits (w : world M) (xs : list (element M)) (p : list (option term)) (row : list (element M)) : Prop :=
  match p, row with
  | [], [] => True
  | None :: p', _ :: row' => fits w xs p' row'
  | Some t :: p', x :: row' => x = value_now w xs t /\ fits w xs p' row'
  | _, _ => False
  end.
Definition takes_place (w : world M) (xs : list (element M)) (u : update) (row : list (element M)) : Prop :=
  fits w xs (pattern u) row /\ true_now w (matched (pattern u) row ++ xs) (condition u).

(** Updates of one symbol take place in the order in which they are written; what is not mentioned stays. *)
Fixpoint relation_after (w : world M) (xs : list (element M)) (us : list update)
    (r : symbol) (row : list (element M)) (before : Prop) : Prop :=
  match us with
  | [] => before
  | u :: us' =>
      relation_after w xs us' r row
        (if Pos.eqb (changed u) r then
           match change u with
           | Insert => before \/ takes_place w xs u row
           | Remove => before /\ ~ takes_place w xs u row
           | Assign _ => before
           end
         else before)
  end.
Fixpoint function_after (w : world M) (xs : list (element M)) (us : list update)
    (f : symbol) (row : list (element M)) (before : element M -> Prop) : element M -> Prop :=
  match us with
  | [] => before
  | u :: us' =>
      function_after w xs us' f row
        (if Pos.eqb (changed u) f then
           match change u with
           | Assign t => fun x =>
               (takes_place w xs u row /\ x = value_now w (matched (pattern u) row ++ xs) t)
               \/ (~ takes_place w xs u row /\ before x)
           | _ => before
           end
         else before)
  end.

Definition enabled (w : world M) (a : action) (xs : list (element M)) : Prop :=
  Forall2 (of_sort M) (parameters a) xs /\
  (forall g, In g (guards a) -> true_now w xs g) /\
  (forall i j s, In i (drawn a) -> In j (drawn a) -> i <> j ->
     nth_error (parameters a) i = Some s -> nth_error (parameters a) j = Some s ->
     nth_error xs i <> nth_error xs j).

Definition leads_to (w : world M) (a : action) (xs : list (element M)) (w' : world M) : Prop :=
  (forall r ss row, sorts_of_relation P r = Some ss -> changes P r = true -> Forall2 (of_sort M) ss row ->
     (relation_now w' r row <-> relation_after w xs (updates a) r row (relation_now w r row))) /\
  (forall f ss s row, sorts_of_function P f = Some (ss, s) -> changes P f = true -> Forall2 (of_sort M) ss row ->
     function_after w xs (updates a) f row (fun x => x = function_now w f row) (function_now w' f row)).

Definition step (w w' : world M) : Prop :=
  exists a xs, In a (actions P) /\ enabled w a xs /\ leads_to w a xs w'.

(** A relation without an initial value is empty; a function without one starts anywhere in its sort. *)
Definition first_state (w : world M) : Prop :=
  well_sorted w /\
  (forall r ss row, sorts_of_relation P r = Some ss -> changes P r = true -> Forall2 (of_sort M) ss row ->
     (relation_now w r row <->
      match initial_value P r with Some (inl f) => true_in M nothing_named row f | _ => False end)) /\
  (forall f ss s row, sorts_of_function P f = Some (ss, s) -> changes P f = true -> Forall2 (of_sort M) ss row ->
     match initial_value P f with Some (inr t) => function_now w f row = value M nothing_named row t | _ => True end).

(** Runs are followed through two-valued states: in classical mathematics, through all states. *)
Inductive reachable : world M -> Prop :=
| at_first : forall w, two_valued (during w) -> first_state w -> reachable w
| by_step : forall w w', reachable w -> two_valued (during w') -> step w w' -> reachable w'.
End Meaning.

(** What a theorem of Carnet says: under a threat model (its axioms), a claim holds in every reachable state of every
    structure that satisfies the axioms, of any size. *)
Definition always (P : protocol) (threat : list formula) (claim : formula) : Prop :=
  forall M, interprets (rigid P) M ->
  List.Forall (true_in M (nothing_named M) []) (axioms P ++ threat) ->
  forall w, reachable P M w -> true_now P M w [] claim.
