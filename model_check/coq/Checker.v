(** The checker of certificates. It searches nothing: it follows a refutation, step by step.

    A state is a list of facts, the newest first. A fact is a sign, values for the bound variables, and a formula.
    Atoms are kept with their variables replaced. [carnet_check/kernel/checker.py] mirrors this file rule by rule. *)
From Coq Require Import List Bool PeanoNat PArith.
Import ListNotations.
From Carnet Require Import Logic.
Local Open Scope lazy_bool_scope.        (** [&&&] and [|||] look at their second argument only if they must *)

(** ** Terms and formulas *)

Definition all2 {A B} (f : A -> B -> bool) : list A -> list B -> bool :=
  fix all2 xs ys :=
    match xs, ys with
    | [], [] => true
    | x :: xs', y :: ys' => f x y &&& all2 xs' ys'
    | _, _ => false
    end.

Fixpoint same_term (a b : term) : bool :=
  match a, b with
  | Bound j, Bound k => Nat.eqb j k
  | Eigen j, Eigen k => Nat.eqb j k
  | Member m, Member n => Pos.eqb m n
  | Apply f ss, Apply g ts => Pos.eqb f g &&& all2 same_term ss ts
  | _, _ => false
  end.

Fixpoint same_formula (f g : formula) : bool :=
  match f, g with
  | Const a, Const b => eqb a b
  | Holds r ss, Holds q ts => Pos.eqb r q &&& all2 same_term ss ts
  | Equal a b, Equal c d => same_term a c &&& same_term b d
  | Not a, Not b => same_formula a b
  | And a b, And c d | Or a b, Or c d | Implies a b, Implies c d => same_formula a c &&& same_formula b d
  | Choose a b c, Choose d e f => same_formula a d &&& (same_formula b e &&& same_formula c f)
  | Forall s a, Forall s' b | Exists s a, Exists s' b => Pos.eqb s s' &&& same_formula a b
  | _, _ => false
  end.

(** [ground env t]: the bound variables of [t] replaced by the terms of [env]. *)
Fixpoint ground (env : list term) (t : term) : term :=
  match t with
  | Bound k => nth k env t
  | Apply f ts => Apply f (map (ground env) ts)
  | _ => t
  end.

(** ** States *)

Record fact := Fact { sign : bool; env : list term; body : formula }.
Record state := State { eigens : list sort; facts : list fact }.

Definition add (x : fact) (st : state) : state := State (eigens st) (x :: facts st).

(** Take note of a formula; what has one consequence is taken apart at once. *)
Fixpoint note (b : bool) (env : list term) (f : formula) (st : state) : state :=
  match f with
  | Holds r ts => add (Fact b [] (Holds r (map (ground env) ts))) st
  | Equal x y => add (Fact b [] (Equal (ground env x) (ground env y))) st
  | Not g => note (negb b) env g st
  | And g h => if b then note true env h (note true env g st) else add (Fact b env f) st
  | Or g h => if b then add (Fact b env f) st else note false env h (note false env g st)
  | Implies g h => if b then add (Fact b env f) st else note false env h (note true env g st)
  | _ => add (Fact b env f) st
  end.

(** ** Sorts: a closed term built from what exists *)

Section Checker.
Variable S : signature.

Definition is_sort (o : option sort) (s : sort) : bool :=
  match o with Some s' => Pos.eqb s' s | None => false end.

Fixpoint sort_of (eigens : list sort) (t : term) : option sort :=
  match t with
  | Bound _ => None
  | Eigen n => nth_error eigens n
  | Member m => member_sort S m
  | Apply f ts =>
      match function_sorts S f with
      | Some (ss, s) => if all2 is_sort (map (sort_of eigens) ts) ss then Some s else None
      | None => None
      end
  end.

(** What holds of all holds of [ts]: quantifiers are taken off a fact, one for each term. *)
Fixpoint instance (eigens : list sort) (x : fact) (ts : list term) {struct ts} : option fact :=
  match ts with
  | [] => Some x
  | t :: ts' =>
      match x with
      | Fact true env (Forall s g) =>
          if is_sort (sort_of eigens t) s then instance eigens (Fact true (t :: env) g) ts' else None
      | Fact false env (Exists s g) =>
          if is_sort (sort_of eigens t) s then instance eigens (Fact false (t :: env) g) ts' else None
      | _ => None
      end
  end.

(** ** The end of a branch: some facts, rewritten by equations among them, contradict each other *)

Fixpoint rewrite (a b t : term) : term :=
  if same_term t a then b
  else match t with Apply f ts => Apply f (map (rewrite a b) ts) | _ => t end.

Definition rewrite_fact (a b : term) (x : fact) : fact :=
  match x with
  | Fact s [] (Holds r ts) => Fact s [] (Holds r (map (rewrite a b) ts))
  | Fact s [] (Equal u v) => Fact s [] (Equal (rewrite a b u) (rewrite a b v))
  | _ => x
  end.

Fixpoint rewrite_others (a b : term) (but : nat) (xs : list fact) : list fact :=
  match xs, but with
  | [], _ => []
  | x :: xs', O => x :: map (rewrite_fact a b) xs'
  | x :: xs', Datatypes.S n => rewrite_fact a b x :: rewrite_others a b n xs'
  end.

Definition is_member (m : member) : bool := match member_sort S m with Some _ => true | None => false end.

Definition absurd_alone (x : fact) : bool :=
  match x with
  | Fact s _ (Const b) => xorb s b
  | Fact false [] (Equal u v) => same_term u v
  | Fact true [] (Equal (Member m) (Member n)) => negb (Pos.eqb m n) &&& (is_member m &&& is_member n)
  | _ => false
  end.

Definition opposed (x y : fact) : bool :=
  xorb (sign x) (sign y) &&& (all2 same_term (env x) (env y) &&& same_formula (body x) (body y)).

Definition absurd (xs : list fact) : bool :=
  existsb absurd_alone xs ||| existsb (fun x => existsb (opposed x) xs) xs.

(** Each step names an equation by its place, and whether it is read from right to left. *)
Fixpoint closes (steps : list (nat * bool)) (xs : list fact) : bool :=
  match steps with
  | [] => absurd xs
  | (place, backwards) :: steps' =>
      match nth_error xs place with
      | Some (Fact true [] (Equal u v)) =>
          closes steps' (if backwards then rewrite_others v u place xs else rewrite_others u v place xs)
      | _ => false
      end
  end.

Fixpoint chosen {A} (xs : list A) (places : list nat) : option (list A) :=
  match places with
  | [] => Some []
  | k :: ks =>
      match nth_error xs k, chosen xs ks with
      | Some x, Some ys => Some (x :: ys)
      | _, _ => None
      end
  end.

(** ** Refutations *)

Inductive refutation :=
| Use (hypothesis : nat) (rest : refutation)
| Instance (place : nat) (ts : list term) (rest : refutation)
| Witness (place : nat) (rest : refutation)               (** name an element of which a fact says that it exists *)
| Split (place : nat) (first second : refutation)
| Cases (t : term) (each : list refutation)               (** which member of its enumeration a term is *)
| Close (places : list nat) (steps : list (nat * bool)).

Definition witness (x : fact) (st : state) : option state :=
  let named := Eigen (length (eigens st)) in
  match x with
  | Fact true env (Exists s g) => Some (note true (named :: env) g (State (eigens st ++ [s]) (facts st)))
  | Fact false env (Forall s g) => Some (note false (named :: env) g (State (eigens st ++ [s]) (facts st)))
  | _ => None
  end.

(** The two ways in which a fact can be; the second may assume that the first is not. *)
Definition ways (x : fact) (st : state) : option (state * state) :=
  match x with
  | Fact true env (Or g h) => Some (note true env g st, note true env h (note false env g st))
  | Fact false env (And g h) => Some (note false env g st, note false env h (note true env g st))
  | Fact true env (Implies g h) => Some (note false env g st, note true env h (note true env g st))
  | Fact b env (Choose c g h) => Some (note b env g (note true env c st), note b env h (note false env c st))
  | _ => None
  end.

(** [scope]: terms for the constants of the obligation. *)
Fixpoint refutes (hyps : list formula) (scope : list term) (st : state) (r : refutation) {struct r} : bool :=
  match r with
  | Use h rest =>
      match nth_error hyps h with Some f => refutes hyps scope (note true scope f st) rest | None => false end
  | Instance k ts rest =>
      match nth_error (facts st) k with
      | Some x =>
          match instance (eigens st) x ts with
          | Some (Fact b env g) => refutes hyps scope (note b env g st) rest
          | None => false
          end
      | None => false
      end
  | Witness k rest =>
      match nth_error (facts st) k with
      | Some x => match witness x st with Some st' => refutes hyps scope st' rest | None => false end
      | None => false
      end
  | Split k p q =>
      match nth_error (facts st) k with
      | Some x =>
          match ways x st with
          | Some (first, second) => refutes hyps scope first p &&& refutes hyps scope second q
          | None => false
          end
      | None => false
      end
  | Cases t each =>
      match sort_of (eigens st) t with
      | Some s =>
          match members S s with
          | Some ms =>
              all2 (fun r m => refutes hyps scope (add (Fact true [] (Equal t (Member m))) st) r) each ms
          | None => false
          end
      | None => false
      end
  | Close places steps => match chosen (facts st) places with Some xs => closes steps xs | None => false end
  end.

(** No eigenvariable occurs in an obligation, and no variable beyond its constants and binders. *)
Fixpoint plain_term (scope : nat) (t : term) : bool :=
  match t with
  | Bound k => Nat.ltb k scope
  | Eigen _ => false
  | Member _ => true
  | Apply _ ts => forallb (plain_term scope) ts
  end.

Fixpoint plain (scope : nat) (f : formula) : bool :=
  match f with
  | Const _ => true
  | Holds _ ts => forallb (plain_term scope) ts
  | Equal a b => plain_term scope a &&& plain_term scope b
  | Not g => plain scope g
  | And g h | Or g h | Implies g h => plain scope g &&& plain scope h
  | Choose c g h => plain scope c &&& (plain scope g &&& plain scope h)
  | Forall _ g | Exists _ g => plain (Datatypes.S scope) g
  end.

Definition accepts (o : obligation) (r : refutation) : bool :=
  let count := length (constants o) in
  forallb (plain count) (hypotheses o)
  &&& refutes (hypotheses o) (map Eigen (seq 0 count)) (State (constants o) []) r.
End Checker.
