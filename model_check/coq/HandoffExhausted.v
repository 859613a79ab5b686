(** The protocol of [Handoff.v] among two holders with two keys: its states, and what they certify.

    The step [read] only ever adds to what is learned, so it is taken early here, as a rule is by the explicit engine:
    the bits of [learned] say what is learned at most. Of [link] they say which keys it may be, since nothing says at
    first which. *)
From Coq Require Import List Bool PArith NArith PeanoNat.
Import ListNotations.
From Carnet Require Import Logic Soundness Protocol Obligations Steps Runs Handoff.
From Carnet Require Import Bits Instances Demands Successors Moves Shelf Exhaustion.

Definition honest : thing := Thing 1.
Definition dishonest : thing := Thing 2.
Definition key_1 : thing := Thing 3.
Definition key_2 : thing := Thing 4.
Definition two : instance := {|
  things := [(sort_Holder, [honest; dishonest]); (sort_Key, [key_1; key_2])];
  facts := [(sym_corrupt, [[dishonest]])];
  values := [];
  somebody := honest |}.

(** ** Bits *)

Definition fact := (symbol * list thing * option thing)%type.
Definition rows_of (d : declaration) : list fact :=
  flat_map (fun row =>
    match result d with
    | Some t => map (fun x => (declared d, row, Some x)) (elements handoff two t)
    | None => [(declared d, row, None)]
    end) (rows handoff two (arguments d)).
Definition all_facts : list fact := flat_map rows_of (filter mutable symbols).

Definition same_value (x y : option thing) : bool :=
  match x, y with Some x, Some y => same x y | None, None => true | _, _ => false end.
Definition same_fact (a b : fact) : bool :=
  let '(r, row, x) := a in let '(r', row', x') := b in Pos.eqb r r' && same_row row row' && same_value x x'.
Fixpoint number_of (a : fact) (n : N) (facts : list fact) : option N :=
  match facts with [] => None | b :: more => if same_fact a b then Some n else number_of a (N.succ n) more end.

Definition known (r : symbol) (row : list thing) (x : option thing) : status :=
  match number_of (r, row, x) 0 all_facts with
  | Some n => if Pos.eqb r sym_learned || Pos.eqb r sym_link then AtMost (0, n) else Exactly (0, n)
  | None => Never
  end.

(** ** Where steps lead *)

Definition raised (s : bits) (t : N) (c : condition_on_bits) : N :=
  match c with Up k g => if eval s g then N.setbit t (snd k) else t | _ => t end.
Definition after_move (s : bits) (m : move) : bits :=
  let plain :=
    match masks (asks m) with
    | mask :: _ => N.lor (must_be_set mask) (N.land (may_only_rise mask) (first_word s))
    | [] => 0%N
    end in
  [fold_left (raised s) (others (asks m)) plain].

Definition steps_of (P : protocol) : list move := moves P two no_limits known.
Definition readings (P : protocol) : list move := filter (fun m => Nat.eqb (by_action m) 4) (steps_of P).
Definition conclude (s : bits) (m : move) : bits :=
  if eval s (possible_where m) then [N.lor (first_word s) (first_word (after_move s m))] else s.
Definition successor (reads : list move) (s : bits) (m : move) : bits :=
  fold_left conclude (reads ++ reads) (after_move s m).

(** All states that are found within a number of steps from state to state. *)
Fixpoint search (ms : list move) (next : bits -> move -> bits) (fuel : nat) (found waiting : list bits) : list bits :=
  match fuel, waiting with
  | S fuel', s :: more =>
      let reached := map (next s) (filter (fun m => eval s (possible_where m)) ms) in
      let fresh := fold_left (fun ss t => if existsb (same_bits t) (ss ++ found) then ss else t :: ss) reached [] in
      search ms next fuel' (fresh ++ found) (more ++ fresh)
  | _, _ => found
  end.

(** At first [link] is any key; the bits of everything else are clear. *)
Definition first_bits : bits :=
  [fold_left N.setbit
     (flat_map (fun x => match known sym_link [] (Some x) with AtMost (_, n) => [n] | _ => [] end) [key_1; key_2]) 0%N].
Definition states_of (P : protocol) : list bits :=
  search (steps_of P) (successor (readings P)) 1000 [first_bits] [first_bits].

Definition exhausts (P : protocol) (claims : list formula) (states : list bits) : bool :=
  exhausted_by P two no_limits [] claims known (successor (readings P)) (fun _ => []) (fun _ => None) 0
    first_bits (Shelf states).

(** ** What is certified *)

Definition states : list bits := Eval vm_compute in states_of handoff.

Theorem secrecy_certified : exhausts handoff [claim_secrecy] states = true.
Proof. vm_compute. reflexivity. Qed.

Theorem secrecy_among_two : forall w, reachable handoff (structure_of handoff two) w ->
  true_now handoff (structure_of handoff two) w [] claim_secrecy.
Proof.
  intros w R.
  destruct (exhausted_holds _ _ _ _ _ _ _ _ _ _ _ _ secrecy_certified) as (_ & _ & H).
  apply H; [apply without_limits, R|left; reflexivity].
Qed.

(** ** It says something *)

(** The instance is a model of what is assumed. *)
Theorem two_is_a_model :
  interprets (rigid handoff) (structure_of handoff two)
  /\ List.Forall (true_in (structure_of handoff two) (nothing_named (structure_of handoff two)) []) (axioms handoff).
Proof. apply (model_interprets handoff two). vm_compute. reflexivity. Qed.

(** Something is learned in a reachable state: the dishonest holder is lent a key, loads, and reads what is its own. *)
Definition something_is_learned : formula :=
  Exists sort_Holder (Exists sort_Holder (Holds sym_learned [Bound 1; Bound 0])).

Lemma decided : decides (structure_of handoff two) (elements handoff two) same (relation_in two).
Proof.
  constructor; simpl; [reflexivity|intros x y; symmetry; apply same_is|reflexivity].
Qed.

Theorem something_is_reached : exists w, reachable handoff (structure_of handoff two) w /\
  true_now handoff (structure_of handoff two) w [] something_is_learned.
Proof.
  set (M := structure_of handoff two).
  set (begin := start handoff M (elements handoff two) same (relation_in two) (fun _ _ => key_1)).
  set (steps := [(action_lend, [dishonest; key_2]); (action_load, [dishonest; key_2]);
                 (action_read, [dishonest; dishonest; key_2])]).
  destruct (run handoff M (elements handoff two) same (relation_in two) steps begin) as [t|] eqn:E;
    [|vm_compute in E; discriminate E].
  exists (world_of M t). split.
  - apply (run_from_start handoff M (elements handoff two) same (relation_in two) decided (fun _ _ => key_1) steps);
      [|intros f ss s row e c F; simpl|exact E].
    + intros a i. simpl in *. intuition (subst; auto 6).
    + unfold sorts_of_function, declaration_of in e. simpl in e.
      repeat match type of e with context [if ?b then _ else _] => destruct b end; try discriminate e.
      injection e as <- <-. simpl. auto.
  - apply (holds_now_right handoff M (elements handoff two) same (relation_in two) decided).
    assert (H : option_map (fun t => holds_now handoff M (elements handoff two) same (relation_in two) t []
                                       something_is_learned)
                  (run handoff M (elements handoff two) same (relation_in two) steps begin) = Some true).
    { vm_compute. reflexivity. }
    rewrite E in H. injection H as H. exact H.
Qed.

(** ** What is wrong is refused *)

Example false_claim_refused : exhausts handoff [Not something_is_learned] states = false.
Proof. vm_compute. reflexivity. Qed.

(** Without any one of the states but the first, which stands last, a step leads out of the others. *)
Definition closed_without (n : nat) : bool :=
  let others := Shelf (firstn n states ++ skipn (S n) states) in
  every_state
    (state_passes (successor (readings handoff)) (fun _ => []) others
       (net_of (fun _ => None) 0 (tasks handoff two no_limits [claim_secrecy] known)))
    others.
Example ten_of_them_are_needed : forallb (fun n => negb (closed_without n)) (map (Nat.mul 8) (seq 0 10)) = true.
Proof. vm_compute. reflexivity. Qed.
Example first_is_needed : exhausts handoff [claim_secrecy] (removelast states) = false.
Proof. vm_compute. reflexivity. Qed.

(** The flaw of the tutorial: what was loaded stays when the GPU comes back. *)
Definition careless : action := {|
  parameters := [];
  drawn := [];
  guards := guards action_take_back;
  updates := [Build_update sym_away [] always_so Remove] |}.
Definition flawed : protocol := {|
  declarations := symbols; enumerations := []; axioms := axioms handoff; initially := [];
  actions := [action_lend; action_load; action_give_back; careless; action_read] |}.

Example flaw_refused : exhausts flawed [claim_secrecy] (states_of flawed) = false.
Proof. vm_compute. reflexivity. Qed.
Example flaw_has_these_states : exhausts flawed [Const true] (states_of flawed) = true.
Proof. vm_compute. reflexivity. Qed.
