(** What has to be proved for claims to hold in every reachable state: weakest preconditions by replacement.

    [carnet_check/obligations] writes the same obligations; a test compares the two, formula by formula. *)
From Coq Require Import List Bool PeanoNat PArith.
Import ListNotations.
From Carnet Require Import Logic Checker Protocol.

(** ** Sorts *)

Section Sorts.
Variable P : protocol.

Fixpoint sort_in (scope : list sort) (t : term) : option sort :=
  match t with
  | Bound k => nth_error scope k
  | Eigen _ => None
  | Member m => sort_of_member P m
  | Apply f ts =>
      match sorts_of_function P f with
      | Some (ss, s) => if all2 is_sort (map (sort_in scope) ts) ss then Some s else None
      | None => None
      end
  end.

Fixpoint sorted (scope : list sort) (f : formula) : bool :=
  match f with
  | Const _ => true
  | Holds r ts =>
      match sorts_of_relation P r with Some ss => all2 is_sort (map (sort_in scope) ts) ss | None => false end
  | Equal a b => match sort_in scope a with Some s => is_sort (sort_in scope b) s | None => false end
  | Not g => sorted scope g
  | And g h | Or g h | Implies g h => sorted scope g && sorted scope h
  | Choose c g h => sorted scope c && (sorted scope g && sorted scope h)
  | Forall s g | Exists s g => sorted (s :: scope) g
  end.

Fixpoint rigid_term (t : term) : bool :=
  match t with Apply f ts => negb (changes P f) && forallb rigid_term ts | _ => true end.
Fixpoint rigid_formula (f : formula) : bool :=
  match f with
  | Const _ => true
  | Holds r ts => negb (changes P r) && forallb rigid_term ts
  | Equal a b => rigid_term a && rigid_term b
  | Not g | Forall _ g | Exists _ g => rigid_formula g
  | And g h | Or g h | Implies g h => rigid_formula g && rigid_formula h
  | Choose c g h => rigid_formula c && (rigid_formula g && rigid_formula h)
  end.

(** The sorts of what a pattern leaves open come first where the condition and the result are read. *)
Definition sorted_update (params : list sort) (u : update) : bool :=
  changes P (changed u) &&
  match declaration_of P (changed u) with
  | Some d =>
      let scope := matched (pattern u) (arguments d) ++ params in
      all2 (fun p s => match p with Some t => is_sort (sort_in params t) s | None => true end)
           (pattern u) (arguments d)
      && sorted scope (condition u)
      && match change u, result d with
         | Insert, None | Remove, None => true
         | Assign t, Some s => is_sort (sort_in scope t) s
         | _, _ => false
         end
  | None => false
  end.
Definition sorted_action (a : action) : bool :=
  forallb (sorted (parameters a)) (guards a) && forallb (sorted_update (parameters a)) (updates a).
Definition sorted_initial (i : symbol * (formula + term)) : bool :=
  changes P (fst i) &&
  match snd i with
  | inl f => match sorts_of_relation P (fst i) with Some ss => sorted ss f && rigid_formula f | None => false end
  | inr t =>
      match sorts_of_function P (fst i) with
      | Some (ss, s) => is_sort (sort_in ss t) s && rigid_term t
      | None => false
      end
  end.
Definition sorted_assumption (f : formula) : bool := sorted [] f && rigid_formula f.

Fixpoint distinct (xs : list positive) : bool :=
  match xs with [] => true | x :: xs' => negb (existsb (Pos.eqb x) xs') && distinct xs' end.

Definition well_formed : bool :=
  distinct (map declared (declarations P)) && distinct (map fst (enumerations P))
  && distinct (flat_map snd (enumerations P)) && distinct (map fst (initially P))
  && forallb sorted_assumption (axioms P) && forallb sorted_initial (initially P)
  && forallb sorted_action (actions P).
End Sorts.

(** ** Substitution *)

Fixpoint lift (t : term) : term :=
  match t with Bound k => Bound (Datatypes.S k) | Apply f ts => Apply f (map lift ts) | _ => t end.

Fixpoint substitute (sg : list term) (f : formula) : formula :=
  match f with
  | Const b => Const b
  | Holds r ts => Holds r (map (ground sg) ts)
  | Equal a b => Equal (ground sg a) (ground sg b)
  | Not g => Not (substitute sg g)
  | And g h => And (substitute sg g) (substitute sg h)
  | Or g h => Or (substitute sg g) (substitute sg h)
  | Implies g h => Implies (substitute sg g) (substitute sg h)
  | Choose c g h => Choose (substitute sg c) (substitute sg g) (substitute sg h)
  | Forall s g => Forall s (substitute (Bound 0 :: map lift sg) g)
  | Exists s g => Exists s (substitute (Bound 0 :: map lift sg) g)
  end.

(** ** Choices: a term whose value depends on whether an assignment took place; it is lifted out of its atom *)

Inductive choice (A : Type) := Sure (x : A) | If (test : formula) (yes no : choice A).
Arguments Sure {A}.
Arguments If {A}.

Fixpoint and_then {A B} (c : choice A) (k : A -> choice B) : choice B :=
  match c with Sure x => k x | If f yes no => If f (and_then yes k) (and_then no k) end.
Fixpoint in_order {A} (cs : list (choice A)) : choice (list A) :=
  match cs with
  | [] => Sure []
  | c :: cs' => and_then c (fun x => and_then (in_order cs') (fun xs => Sure (x :: xs)))
  end.
Fixpoint settled (c : choice formula) : formula :=
  match c with Sure f => f | If f yes no => Choose f (settled yes) (settled no) end.

(** Every application replaced by what it is elsewhere; [depth] counts the binders that are open. *)
Section Replace.
Variable function_is : nat -> symbol -> list term -> choice term.
Variable relation_is : nat -> symbol -> list term -> formula.

Fixpoint replaced_term (depth : nat) (t : term) : choice term :=
  match t with
  | Apply f ts => and_then (in_order (map (replaced_term depth) ts)) (function_is depth f)
  | _ => Sure t
  end.
Fixpoint replaced (depth : nat) (f : formula) : formula :=
  match f with
  | Const b => Const b
  | Holds r ts =>
      settled (and_then (in_order (map (replaced_term depth) ts)) (fun ts' => Sure (relation_is depth r ts')))
  | Equal a b =>
      settled (and_then (replaced_term depth a) (fun a' =>
               and_then (replaced_term depth b) (fun b' => Sure (Equal a' b'))))
  | Not g => Not (replaced depth g)
  | And g h => And (replaced depth g) (replaced depth h)
  | Or g h => Or (replaced depth g) (replaced depth h)
  | Implies g h => Implies (replaced depth g) (replaced depth h)
  | Choose c g h => Choose (replaced depth c) (replaced depth g) (replaced depth h)
  | Forall s g => Forall s (replaced (Datatypes.S depth) g)
  | Exists s g => Exists s (replaced (Datatypes.S depth) g)
  end.
End Replace.

(** ** After a step *)

Section After.
Variable params : nat.                  (** how many parameters the action has *)
Variable us : list update.

Definition parameters_at (depth : nat) : list term := map (fun i => Bound (depth + i)) (seq 0 params).

(** The conjunction of what is asked of a row: nothing if the pattern is open everywhere and nothing else is asked. *)
Fixpoint equations (depth : nat) (p : list (option term)) (ts : list term) (rest : formula) : formula :=
  match p, ts with
  | Some u :: p', t :: ts' => And (Equal t (ground (parameters_at depth) u)) (equations depth p' ts' rest)
  | None :: p', _ :: ts' => equations depth p' ts' rest
  | _, _ => rest
  end.
Definition here (depth : nat) (u : update) (ts : list term) : list term :=
  matched (pattern u) ts ++ parameters_at depth.
Definition applies (depth : nat) (u : update) (ts : list term) : formula :=
  equations depth (pattern u) ts (substitute (here depth u ts) (condition u)).

Definition relation_then (depth : nat) (r : symbol) (ts : list term) : formula :=
  fold_left (fun before u =>
    if Pos.eqb (changed u) r then
      match change u with
      | Insert => Or before (applies depth u ts)
      | Remove => And before (Not (applies depth u ts))
      | Assign _ => before
      end
    else before) us (Holds r ts).
Definition function_then (depth : nat) (f : symbol) (ts : list term) : choice term :=
  fold_left (fun before u =>
    if Pos.eqb (changed u) f then
      match change u with
      | Assign t => If (applies depth u ts) (Sure (ground (here depth u ts) t)) before
      | _ => before
      end
    else before) us (Sure (Apply f ts)).
Definition precondition (claim : formula) : formula := replaced function_then relation_then 0 claim.
End After.

(** ** In the first state *)

Section Start.
Variable P : protocol.

Definition relation_first (depth : nat) (r : symbol) (ts : list term) : formula :=
  if changes P r then
    match initial_value P r with Some (inl f) => substitute ts f | _ => Const false end
  else Holds r ts.
Definition function_first (depth : nat) (f : symbol) (ts : list term) : choice term :=
  if changes P f then
    match initial_value P f with Some (inr t) => Sure (ground ts t) | _ => Sure (Apply f ts) end
  else Sure (Apply f ts).
Definition initially_true (claim : formula) : formula := replaced function_first relation_first 0 claim.
End Start.

(** ** Obligations *)

(** What one action draws fresh differs, where it is of one sort. *)
Fixpoint pairs {A} (xs : list A) : list (A * A) :=
  match xs with [] => [] | x :: xs' => map (pair x) xs' ++ pairs xs' end.
Definition one_sort (a : action) (ij : nat * nat) : bool :=
  negb (Nat.eqb (fst ij) (snd ij)) &&
  match nth_error (parameters a) (fst ij), nth_error (parameters a) (snd ij) with
  | Some s, Some s' => Pos.eqb s s'
  | _, _ => false
  end.
Definition drawn_apart (a : action) : list formula :=
  map (fun ij => Not (Equal (Bound (fst ij)) (Bound (snd ij)))) (filter (one_sort a) (pairs (drawn a))).

Section Obligations.
Variable P : protocol.
Variable threat : list formula.         (** the axioms of a threat model *)
Variable known : list formula.          (** claims that hold already, under the same axioms *)
Variable claims : list formula.         (** claims and lemmas to be proved together *)

Definition at_start (claim : formula) : obligation :=
  Build_obligation [] (axioms P ++ threat ++ [Not (initially_true P claim)]).
Definition kept_by (a : action) (claim : formula) : obligation :=
  Build_obligation (parameters a)
    (axioms P ++ threat ++ known ++ claims ++ guards a ++ drawn_apart a
     ++ [Not (precondition (length (parameters a)) (updates a) claim)]).

(** A step that changes nothing of which a claim speaks keeps it. *)
Definition untouched (a : action) (claim : formula) : bool :=
  same_formula (precondition (length (parameters a)) (updates a) claim) claim.

Definition obligations : list obligation :=
  map at_start claims
  ++ flat_map (fun a => map (kept_by a) (filter (fun c => negb (untouched a c)) claims)) (actions P).

Definition well_stated : bool :=
  well_formed P && forallb (sorted_assumption P) threat && forallb (sorted P []) known && forallb (sorted P []) claims.

Definition certified (certificates : list refutation) : bool :=
  well_stated && all2 (accepts (whole P)) obligations certificates.
End Obligations.
