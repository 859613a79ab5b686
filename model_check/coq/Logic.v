(** Many-sorted first-order logic with equality and enumerations: formulas, structures and truth.

    Read this file to know what a theorem of Carnet says. Names are numbers here; files that are
    made from a specification give every number a name. *)
From Coq Require Import List PArith.
Import ListNotations.

Definition sort := positive.
Definition symbol := positive.
Definition member := positive.

Inductive term :=
| Bound (index : nat)                    (** a variable; the innermost binder has index 0 *)
| Eigen (number : nat)                   (** an element that a proof has named *)
| Member (m : member)                    (** a member of an enumeration *)
| Apply (f : symbol) (arguments : list term).

Inductive formula :=
| Const (value : bool)
| Holds (r : symbol) (arguments : list term)
| Equal (left right : term)
| Not (body : formula)
| And (left right : formula)
| Or (left right : formula)
| Implies (premise conclusion : formula)
| Choose (test yes no : formula)         (** [yes] if [test] holds, and [no] otherwise *)
| Forall (s : sort) (body : formula)
| Exists (s : sort) (body : formula).

(** What is declared: the sorts of arguments and results, and the members of enumerations. *)
Record signature := {
  function_sorts : symbol -> option (list sort * sort);
  relation_sorts : symbol -> option (list sort);
  member_sort : member -> option sort;
  members : sort -> option (list member) }.

(** A structure may be infinite, and a sort may be empty. What has no meaning denotes [stray]. *)
Record structure := {
  element : Type;
  of_sort : sort -> element -> Prop;
  function : symbol -> list element -> element;
  relation : symbol -> list element -> Prop;
  denoted : member -> element;
  stray : element }.

Section Truth.
Variable M : structure.
Variable named : nat -> element M.       (** what eigenvariables stand for *)

(** [env] lists what bound variables stand for, the innermost first. *)
Fixpoint value (env : list (element M)) (t : term) : element M :=
  match t with
  | Bound k => nth k env (stray M)
  | Eigen n => named n
  | Member m => denoted M m
  | Apply f ts => function M f (map (value env) ts)
  end.

Fixpoint true_in (env : list (element M)) (f : formula) : Prop :=
  match f with
  | Const b => b = true
  | Holds r ts => relation M r (map (value env) ts)
  | Equal a b => value env a = value env b
  | Not g => ~ true_in env g
  | And g h => true_in env g /\ true_in env h
  | Or g h => true_in env g \/ true_in env h
  | Implies g h => true_in env g -> true_in env h
  | Choose c g h => (true_in env c -> true_in env g) /\ (~ true_in env c -> true_in env h)
  | Forall s g => forall x, of_sort M s x -> true_in (x :: env) g
  | Exists s g => exists x, of_sort M s x /\ true_in (x :: env) g
  end.
End Truth.

(** Functions take sorts to sorts; the members of an enumeration are different, and there is nothing else in it. *)
Record interprets (S : signature) (M : structure) : Prop := {
  function_closed : forall f ss s xs,
    function_sorts S f = Some (ss, s) -> Forall2 (of_sort M) ss xs -> of_sort M s (function M f xs);
  member_sorted : forall m s, member_sort S m = Some s -> of_sort M s (denoted M m);
  members_differ : forall m n s s',
    member_sort S m = Some s -> member_sort S n = Some s' -> denoted M m = denoted M n -> m = n;
  members_exhaust : forall s ms x,
    members S s = Some ms -> of_sort M s x -> exists m, In m ms /\ x = denoted M m }.

(** Every formula is true or false. In classical mathematics all structures are so. *)
Definition two_valued (M : structure) : Prop :=
  forall named env f, true_in M named env f \/ ~ true_in M named env f.

(** Something to prove, put as a contradiction: that no elements of the sorts [constants] (variable [Bound i] is the
    i-th of them) make all [hypotheses] true, the negated goal among them. *)
Record obligation := { constants : list sort; hypotheses : list formula }.

Definition contradictory (S : signature) (o : obligation) : Prop :=
  forall M, interprets S M -> two_valued M ->
  forall named xs, Forall2 (of_sort M) (constants o) xs -> ~ List.Forall (true_in M named xs) (hypotheses o).
