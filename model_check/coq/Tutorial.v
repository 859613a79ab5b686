(** What the theorems of [Handoff.v] say in plain words, and that they are not empty. *)
From Coq Require Import List Bool PArith.
Import ListNotations.
From Carnet Require Import Logic Checker Protocol Obligations Induction Runs Handoff.

(** ** In words *)

(** [Plain.v] goes one step further: there, even the steps are written without Carnet. *)

(** Take any holders and keys, as many as you like, and any choice of corrupt holders. In every state that steps of the
    protocol can reach, nobody but [y] has learned the data of an honest [y]. *)
Theorem nobody_else_has_it : forall M : structure, interprets (rigid handoff) M ->
  forall Holder Key, Holder = of_sort M sort_Holder -> Key = of_sort M sort_Key ->
  (exists x, Holder x) -> (exists k, Key k) ->
  forall now, reachable handoff M now ->
  forall x y, Holder x -> Holder y ->
  relation_now now sym_learned [x; y] -> ~ relation M sym_corrupt [y] -> x = y.
Proof.
  intros M I Holder Key -> -> (x0 & X0) (k0 & K0) now R x y X Y Learned Honest.
  refine (secrecy M I _ now R x X y Y (conj Learned Honest)).
  constructor; [exists x0; split; [exact X0|reflexivity]|].
  constructor; [exists k0; split; [exact K0|reflexivity]|constructor].
Qed.

(** ** A structure: an honest holder, a corrupt one, and two keys *)

Inductive thing := alice | mallory | first_key | second_key.

Definition same_thing (x y : thing) : bool :=
  match x, y with
  | alice, alice | mallory, mallory | first_key, first_key | second_key, second_key => true
  | _, _ => false
  end.
Definition things (s : sort) : list thing :=
  if Pos.eqb s sort_Holder then [alice; mallory] else if Pos.eqb s sort_Key then [first_key; second_key] else [].
Definition corrupt (r : symbol) (row : list thing) : bool :=
  match row with [mallory] => Pos.eqb r sym_corrupt | _ => false end.

Definition small : structure := {|
  element := thing;
  of_sort := fun s x => In x (things s);
  function := fun _ _ => alice;
  relation := fun r row => corrupt r row = true;
  denoted := fun _ => alice;
  stray := alice |}.

Lemma small_decides : decides small things same_thing corrupt.
Proof. constructor; simpl; [tauto| |tauto]. intros [] []; simpl; split; congruence. Qed.

Lemma link_alone_has_values : forall P, declarations P = symbols ->
  forall f ss s, sorts_of_function P f = Some (ss, s) -> f = sym_link /\ s = sort_Key.
Proof.
  intros P D f ss s. unfold sorts_of_function, declaration_of. rewrite D.
  destruct (find _ symbols) as [d|] eqn:Found; [|discriminate].
  apply find_some in Found as [Found Named]. apply Pos.eqb_eq in Named. simpl in Found.
  repeat (destruct Found as [<-|Found]; [simpl in Named; subst f; intros F; try discriminate; injection F; auto|]).
  destruct Found.
Qed.

Lemma small_interprets : forall P, declarations P = symbols -> enumerations P = [] -> interprets (rigid P) small.
Proof.
  intros P D E. constructor; unfold rigid; simpl.
  - intros f ss s row F. exfalso. destruct (changes P f) eqn:C; [discriminate|].
    destruct (link_alone_has_values P D f ss s F) as (-> & _).
    unfold changes, declaration_of in C. rewrite D in C. discriminate.
  - intros m s. unfold sort_of_member. rewrite E. discriminate.
  - intros m n s s'. unfold sort_of_member. rewrite E. discriminate.
  - intros s ms x. unfold members_of. rewrite E. discriminate.
Qed.

Lemma alice_holds : of_sort small sort_Holder alice.
Proof. left. reflexivity. Qed.
Lemma mallory_holds : of_sort small sort_Holder mallory.
Proof. right. left. reflexivity. Qed.
Lemma first_key_is_one : of_sort small sort_Key first_key.
Proof. left. reflexivity. Qed.

Lemma small_assumes : List.Forall (true_in small (nothing_named small) []) [inhabited_Holder; inhabited_Key].
Proof.
  constructor; [exists alice; split; [exact alice_holds|reflexivity]|].
  constructor; [exists first_key; split; [exact first_key_is_one|reflexivity]|constructor].
Qed.

(** ** A run *)

(** At first the link has the first key; nothing else is the case. *)
Definition at_first_key (_ : symbol) (_ : list thing) : thing := first_key.
Definition running (P : protocol) (steps : list (action * list thing)) : option (table small) :=
  run P small things same_thing corrupt steps (start P small things same_thing corrupt at_first_key).

(** The run can be taken, and at its end these facts hold. *)
Definition shows (P : protocol) (steps : list (action * list thing)) (facts : list (symbol * list thing)) : bool :=
  match running P steps with
  | Some t => forallb (fun fact => relation_at small t (fst fact) (snd fact)) facts
  | None => false
  end.

Lemma shown : forall P, declarations P = symbols -> initially P = [] ->
  forall steps facts, shows P steps facts = true -> (forall a, In a (map fst steps) -> In a (actions P)) ->
  exists now : world small, reachable P small now /\ forall r row, In (r, row) facts -> relation_now now r row.
Proof.
  intros P D I steps facts S A. unfold shows in S. destruct (running P steps) as [t|] eqn:R; [|discriminate].
  exists (world_of small t). split.
  - refine (run_from_start P small things same_thing corrupt small_decides at_first_key steps A _ t R).
    intros f ss s row F _ _. simpl. unfold initial_value. rewrite I.
    destruct (link_alone_has_values P D f ss s F) as (_ & ->). exact first_key_is_one.
  - rewrite forallb_forall in S. intros r row F. exact (S (r, row) F).
Qed.

(** Mallory gets the GPU, keeps the key, and gives the GPU back. Then Alice gets it with another key. *)
Definition two_loans : list (action * list thing) :=
  [(action_lend, [mallory; first_key]);
   (action_load, [mallory; first_key]);
   (action_read, [mallory; mallory; first_key]);
   (action_give_back, [mallory; first_key]);
   (action_take_back, []);
   (action_lend, [alice; second_key]);
   (action_load, [alice; second_key])].

(** The theorem is about something: Alice's data is on the GPU, Mallory still has its old key and has learned what it
    could, and the theorem says of this state that it has not learned Alice's data. *)
Theorem it_is_about_something : exists now : world small,
  reachable handoff small now /\
  ~ relation small sym_corrupt [alice] /\
  relation_now now sym_resident [alice] /\
  relation_now now sym_lent [mallory; first_key] /\
  relation_now now sym_learned [mallory; mallory] /\
  ~ relation_now now sym_learned [mallory; alice].
Proof.
  destruct (shown handoff eq_refl eq_refl two_loans
    [(sym_resident, [alice]); (sym_lent, [mallory; first_key]); (sym_learned, [mallory; mallory])])
    as (now & Reached & Facts); [vm_compute; reflexivity|simpl; tauto|].
  exists now. split; [exact Reached|]. split; [discriminate|].
  do 3 (split; [apply Facts; simpl; tauto|]). intros Learned.
  discriminate (nobody_else_has_it small (small_interprets handoff eq_refl eq_refl) _ _ eq_refl eq_refl
    (ex_intro _ alice alice_holds) (ex_intro _ first_key first_key_is_one) now Reached mallory alice
    mallory_holds alice_holds Learned (fun c => diff_false_true c)).
Qed.

(** ** Without the defence the claim is false *)

(** Nothing says that the key is a new one: the protocol before the repair. *)
Definition action_lend_any_key : action := {|
  parameters := [sort_Holder; sort_Key];
  drawn := [];
  guards := [Not (Holds sym_away [])];
  updates := tl (updates action_lend) |}.

Definition without_fresh_key : protocol := {|
  declarations := symbols;
  enumerations := [];
  axioms := [inhabited_Holder; inhabited_Key];
  initially := [];
  actions := [action_lend_any_key; action_load; action_give_back; action_take_back; action_read] |}.

(** The attack that the tutorial shows. *)
Definition attack : list (action * list thing) :=
  [(action_lend_any_key, [mallory; first_key]);
   (action_give_back, [mallory; first_key]);
   (action_take_back, []);
   (action_lend_any_key, [alice; first_key]);
   (action_load, [alice; first_key]);
   (action_read, [mallory; alice; first_key])].

Theorem secrecy_needs_the_defence : ~ always without_fresh_key threat_theft claim_secrecy.
Proof.
  intros Always.
  destruct (shown without_fresh_key eq_refl eq_refl attack [(sym_learned, [mallory; alice])])
    as (now & Reached & Facts); [vm_compute; reflexivity|simpl; tauto|].
  assert (Learned : relation_now now sym_learned [mallory; alice]) by (apply Facts; simpl; tauto).
  discriminate (Always small (small_interprets without_fresh_key eq_refl eq_refl) small_assumes now Reached
    mallory mallory_holds alice alice_holds (conj Learned (fun c => diff_false_true c))).
Qed.
