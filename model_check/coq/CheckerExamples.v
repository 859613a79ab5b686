(** Nothing here is vacuous: a certificate that is accepted, some that are not, and a structure.

    The example: a GPU that is not clean is used by a holder; nobody uses [g]; [g] is [h]. Then [h] is clean. *)
From Coq Require Import List Bool PArith.
Import ListNotations.
From Carnet Require Import Logic Checker Soundness.

(** ** A signature *)

Definition Gpu : sort := 1%positive.
Definition Holder : sort := 2%positive.
Definition Phase : sort := 3%positive.
Definition Ghost : sort := 4%positive.                         (** nothing is of this sort *)
Definition CLEAN : member := 1%positive.
Definition DIRTY : member := 2%positive.
Definition phase : symbol := 1%positive.
Definition uses : symbol := 1%positive.

Definition small : signature := {|
  function_sorts := fun f => if Pos.eqb f phase then Some ([Gpu], Phase) else None;
  relation_sorts := fun r => if Pos.eqb r uses then Some [Holder; Gpu] else None;
  member_sort := fun m => if existsb (Pos.eqb m) [CLEAN; DIRTY] then Some Phase else None;
  members := fun s => if Pos.eqb s Phase then Some [CLEAN; DIRTY] else None |}.

(** ** An obligation, and certificates *)

Definition is_clean (x : term) : formula := Equal (Apply phase [x]) (Member CLEAN).

(** Some holder uses [x], a variable outside the quantifier. *)
Definition in_use (x : nat) : formula := Exists Holder (Holds uses [Bound 0; Bound (S x)]).

(** Constants: [g] is [Bound 0], and [h] is [Bound 1]. *)
Definition used_or_clean : formula := Forall Gpu (Implies (Not (is_clean (Bound 0))) (in_use 0)).
Definition unused : formula := Not (in_use 0).
Definition same : formula := Equal (Bound 0) (Bound 1).
Definition goal : formula := is_clean (Bound 1).

Definition with_equation : obligation :=
  {| constants := [Gpu; Gpu]; hypotheses := [used_or_clean; unused; same; Not goal] |}.
Definition without_equation : obligation :=
  {| constants := [Gpu; Gpu]; hypotheses := [used_or_clean; unused; Not goal] |}.

(** The phase of [h] is CLEAN, against the goal; or it is DIRTY, and then it is CLEAN, too, or [Eigen 2] uses [h]. *)
Definition certificate (by_cases : list refutation -> refutation) (last_step : list (nat * bool)) : refutation :=
  Use 0 (Use 1 (Use 2 (Use 3 (by_cases
    [Close [0; 1] [];
     Instance 4 [Eigen 1] (Split 0
       (Close [0; 2] [(0, false)])
       (Witness 0 (Instance 7 [Eigen 2] (Close [0; 1; 7] last_step))))])))).
Definition by_phase : list refutation -> refutation := Cases (Apply phase [Eigen 1]).
Definition by_first_phase (each : list refutation) : refutation := by_phase (firstn 1 each).

Example accepted : accepts small with_equation (certificate by_phase [(2, false)]) = true.
Proof. vm_compute. reflexivity. Qed.

Example proved : contradictory small with_equation.
Proof. exact (sound small with_equation _ accepted). Qed.

Example refused_with_a_member_left_out : accepts small with_equation (certificate by_first_phase [(2, false)]) = false.
Proof. vm_compute. reflexivity. Qed.

Example refused_without_the_equation : accepts small with_equation (certificate by_phase []) = false.
Proof. vm_compute. reflexivity. Qed.

Example refused_for_another_obligation :
  accepts small without_equation (certificate by_phase [(2, false)]) = false.
Proof. vm_compute. reflexivity. Qed.

Definition nothing_of (s : sort) : obligation := {| constants := []; hypotheses := [Forall s (Const false)] |}.
Definition but_CLEAN : refutation := Use 0 (Instance 0 [Member CLEAN] (Close [0] [])).

Example refused_for_its_sort : map (fun s => accepts small (nothing_of s) but_CLEAN) [Phase; Ghost] = [true; false].
Proof. vm_compute. reflexivity. Qed.

(** ** A structure *)

Inductive thing := gpu_a | gpu_b | alice | clean | dirty.

Definition kind (x : thing) : sort :=
  match x with gpu_a | gpu_b => Gpu | alice => Holder | clean | dirty => Phase end.

(** Alice uses the first GPU, which is dirty; the second is clean. *)
Definition house : structure := {|
  element := thing;
  of_sort := fun s x => kind x = s;
  function := fun _ xs => match xs with [gpu_a] => dirty | _ => clean end;
  relation := fun _ xs => xs = [alice; gpu_a];
  denoted := fun m => if Pos.eqb m CLEAN then clean else dirty;
  stray := alice |}.

Lemma house_interprets : interprets small house.
Proof.
  constructor; cbn [small house function_sorts member_sort members of_sort function denoted existsb].
  - intros f ss s xs declared _. destruct (Pos.eqb f phase); [| discriminate]. injection declared as _ <-.
    destruct xs as [| [] []]; reflexivity.
  - intros m s declared. destruct (_ || _)%bool; [| discriminate]. injection declared as <-.
    destruct (Pos.eqb m CLEAN); reflexivity.
  - intros m n s s' declared_m declared_n.
    destruct (Pos.eqb_spec m CLEAN), (Pos.eqb_spec m DIRTY), (Pos.eqb_spec n CLEAN), (Pos.eqb_spec n DIRTY);
      simpl in *; congruence.
  - intros s ms x listed of_s. destruct (Pos.eqb s Phase) eqn:is_phase; [| discriminate]. injection listed as <-.
    apply Pos.eqb_eq in is_phase as ->.
    destruct x; try discriminate; [exists CLEAN | exists DIRTY]; simpl; auto.
Qed.

(** *** Finite structures are two-valued, and no axiom says so *)

Definition decided (A : Prop) : Prop := A \/ ~ A.

Lemma search : forall {A} (P : A -> Prop) xs,
  (forall x, decided (P x)) -> (exists x, In x xs /\ P x) \/ (forall x, In x xs -> ~ P x).
Proof.
  intros A P xs decide. induction xs as [| x xs [(y & in_xs & holds) | nowhere]].
  - right. intros x [].
  - left. exists y. simpl. auto.
  - destruct (decide x) as [holds | fails]; [left; exists x; simpl; auto |].
    right. intros y [<- | in_xs]; auto.
Qed.

Lemma finite_two_valued : forall M (all : list (element M)),
  (forall x, In x all) ->
  (forall x y : element M, decided (x = y)) ->
  (forall s x, decided (of_sort M s x)) ->
  (forall r xs, decided (relation M r xs)) ->
  two_valued M.
Proof.
  intros M all complete equality sorts relations named env f. change (decided (true_in M named env f)). revert env.
  assert (among : forall s (P : element M -> Prop), (forall x, decided (P x)) ->
    (exists x, of_sort M s x /\ P x) \/ (forall x, of_sort M s x -> ~ P x)).
  { intros s P decide. destruct (search (fun x => of_sort M s x /\ P x) all) as [(x & _ & found) | nowhere].
    - intros x. destruct (sorts s x), (decide x); unfold decided; tauto.
    - left. exists x. exact found.
    - right. intros x in_s holds. exact (nowhere x (complete x) (conj in_s holds)). }
  induction f as [b | | | g IH | g IHg h IHh | g IHg h IHh | g IHg h IHh | c IHc g IHg h IHh | s g IH | s g IH];
    intros env; simpl.
  - destruct b; [left; reflexivity | right; discriminate].
  - apply relations.
  - apply equality.
  - destruct (IH env); unfold decided; tauto.
  - destruct (IHg env), (IHh env); unfold decided; tauto.
  - destruct (IHg env), (IHh env); unfold decided; tauto.
  - destruct (IHg env), (IHh env); unfold decided; tauto.
  - destruct (IHc env), (IHg env), (IHh env); unfold decided; tauto.
  - destruct (among s (fun x => ~ true_in M named (x :: env) g)) as [(x & in_s & fails) | nowhere].
    + intros x. destruct (IH (x :: env)); unfold decided; tauto.
    + right. intros every. exact (fails (every x in_s)).
    + left. intros x in_s. destruct (IH (x :: env)) as [holds | fails]; [exact holds |].
      destruct (nowhere x in_s fails).
  - destruct (among s (fun x => true_in M named (x :: env) g) (fun x => IH (x :: env))) as [there | nowhere].
    + left. exact there.
    + right. intros (x & in_s & holds). exact (nowhere x in_s holds).
Qed.

Lemma house_two_valued : two_valued house.
Proof.
  assert (equality : forall x y : thing, {x = y} + {x <> y}) by decide equality.
  apply (finite_two_valued house [gpu_a; gpu_b; alice; clean; dirty]); simpl; unfold decided.
  - intros []; tauto.
  - intros x y. destruct (equality x y); tauto.
  - intros s x. destruct (Pos.eq_dec (kind x) s); tauto.
  - intros _ xs. destruct (list_eq_dec equality xs [alice; gpu_a]); tauto.
Qed.

(** ** What the structure satisfies has no certificate *)

(** The second GPU is not used, and the first is not clean. *)
Example satisfiable : ~ contradictory small without_equation.
Proof.
  intros contradiction.
  refine (contradiction house house_interprets house_two_valued (fun _ => alice) [gpu_b; gpu_a] _ _).
  - repeat constructor.
  - repeat apply List.Forall_cons; [| | | constructor]; simpl.
    + intros [] is_gpu; try discriminate is_gpu; intros used.
      * exists alice. auto.
      * destruct (used eq_refl).
    + intros (x & _ & used). discriminate used.
    + discriminate.
Qed.

Example never_accepted : forall r, accepts small without_equation r = false.
Proof.
  intros r. destruct (accepts small without_equation r) eqn:accepted; [| reflexivity].
  destruct (satisfiable (sound small without_equation r accepted)).
Qed.

(** That a sort is not empty has to be a hypothesis. *)
Example sorts_may_be_empty : ~ contradictory small (nothing_of Ghost).
Proof.
  intros contradiction.
  apply (contradiction house house_interprets house_two_valued (fun _ => alice) []); [constructor |].
  constructor; [| constructor]. simpl. intros [] is_ghost; discriminate is_ghost.
Qed.
