(* Systems and certificates as texts, and formulas as text again.

   This file is trusted with what is in a system: what it reads is what the program speaks of. A value is a number, a
   list in brackets, or a constructor of the Coq files with its arguments, also in brackets. *)
open Kernel

exception Malformed of string

let fail form = Printf.ksprintf (fun said -> raise (Malformed said)) form

(* -- lists in brackets -- *)

type value = Word of string | List of value list

let is_space c = c = ' ' || c = '\n' || c = '\t' || c = '\r'
let is_plain c = not (is_space c) && c <> '(' && c <> ')'

(* The values of a text, one after another. Lists that are open wait in [outer], what they hold in reverse. *)
let values text =
  let size = String.length text in
  let rec next at inner outer =
    if at >= size then if outer = [] then List.rev inner else fail "a bracket is not closed"
    else
      match text.[at], outer with
      | '(', _ -> next (at + 1) [] (inner :: outer)
      | ')', [] -> fail "a bracket is closed that was not opened"
      | ')', before :: outer -> next (at + 1) (List (List.rev inner) :: before) outer
      | c, _ when is_space c -> next (at + 1) inner outer
      | _ ->
          let stop = ref at in
          while !stop < size && is_plain text.[!stop] do incr stop done;
          next !stop (Word (String.sub text at (!stop - at)) :: inner) outer
  in
  next 0 [] []

let rec shown = function Word w -> w | List vs -> "(" ^ String.concat " " (List.map shown vs) ^ ")"

let unexpected what found =
  let said = shown found in
  fail "expected %s, found %s" what (if String.length said > 60 then String.sub said 0 57 ^ "..." else said)

(* -- numbers: small enough that no machine integer overflows -- *)

let bound = 1 lsl 30
let digits w = w <> "" && String.length w <= 10 && String.for_all (fun c -> '0' <= c && c <= '9') w

let number_of_word w =
  if not (digits w) then fail "expected a number, found %s" w
  else
    let n = int_of_string ("0u" ^ w) in
    if n < bound then n else fail "expected a number below 2^30, found %s" w

let count = function Word w -> number_of_word w | v -> unexpected "a number" v
let name v = match count v with 0 -> fail "expected a number from 1, found 0" | n -> n
let all read = function List vs -> List.map read vs | v -> unexpected "a list" v
let truth = function Word "true" -> true | Word "false" -> false | v -> unexpected "true or false" v
let word = function Word w -> w | v -> unexpected "a name" v

let optional read = function
  | Word "None" -> None
  | List [ Word "Some"; v ] -> Some (read v)
  | v -> unexpected "None or Some" v

(* -- the constructors of Logic.v and Protocol.v -- *)

let rec term = function
  | List [ Word "Bound"; k ] -> Bound (count k)
  | List [ Word "Member"; m ] -> Member (name m)
  | List [ Word "Apply"; f; ts ] -> Apply (name f, all term ts)
  | v -> unexpected "a term" v

let rec formula = function
  | List [ Word "Const"; b ] -> Const (truth b)
  | List [ Word "Holds"; r; ts ] -> Holds (name r, all term ts)
  | List [ Word "Equal"; a; b ] -> Equal (term a, term b)
  | List [ Word "Not"; f ] -> Not (formula f)
  | List [ Word "And"; f; g ] -> And (formula f, formula g)
  | List [ Word "Or"; f; g ] -> Or (formula f, formula g)
  | List [ Word "Implies"; f; g ] -> Implies (formula f, formula g)
  | List [ Word "Forall"; s; f ] -> Forall (name s, formula f)
  | List [ Word "Exists"; s; f ] -> Exists (name s, formula f)
  | v -> unexpected "a formula" v

let effect = function
  | List [ Word "Insert" ] -> Insert
  | List [ Word "Remove" ] -> Remove
  | List [ Word "Assign"; t ] -> Assign (term t)
  | v -> unexpected "an effect" v

let update = function
  | List [ Word "Build_update"; s; p; w; e ] ->
      { changed = name s; pattern = all (optional term) p; condition = formula w; change = effect e }
  | v -> unexpected "an update" v

let action = function
  | List [ Word "Build_action"; ps; ds; gs; us ] ->
      { parameters = all name ps; drawn = all count ds; guards = all formula gs; updates = all update us }
  | v -> unexpected "an action" v

let declaration = function
  | List [ Word "Build_declaration"; s; args; r; m ] ->
      { declared = name s; arguments = all name args; result = optional name r; mutable0 = truth m }
  | v -> unexpected "a declaration" v

let enumeration = function
  | List [ Word "pair"; s; ms ] -> (name s, all name ms)
  | v -> unexpected "an enumeration" v

let initial = function
  | List [ Word "pair"; s; List [ Word "inl"; f ] ] -> (name s, Inl (formula f))
  | List [ Word "pair"; s; List [ Word "inr"; t ] ] -> (name s, Inr (term t))
  | v -> unexpected "an initial value" v

let protocol = function
  | List [ Word "Build_protocol"; ds; es; ax; ini; acts ] ->
      { declarations = all declaration ds; enumerations = all enumeration es; axioms = all formula ax;
        initially = all initial ini; actions = all action acts }
  | v -> unexpected "a protocol" v

(* -- systems: a protocol, the names of its actions, and layers of what is proved of it -- *)

type layer = {
  threat : string;
  assumed : formula list;
  known : formula list;
  claims : formula list;
  called : string list;
}

type system = { protocol : protocol; steps : string list; layers : layer list }

let same_length what xs ys =
  if List.length xs <> List.length ys then
    fail "expected a name for each of %d %s, found %d" (List.length xs) what (List.length ys)

let layer = function
  | List [ Word "Layer"; t; ax; kn; cl; ns ] ->
      let claims = all formula cl and called = all word ns in
      same_length "claims" claims called;
      { threat = word t; assumed = all formula ax; known = all formula kn; claims; called }
  | v -> unexpected "a layer" v

let system text =
  match values text with
  | p :: List (Word "Actions" :: names) :: layers ->
      let found = { protocol = protocol p; steps = List.map word names; layers = List.map layer layers } in
      same_length "actions" found.protocol.actions found.steps;
      found
  | _ -> fail "expected a protocol, the names of its actions, and layers"

(* -- certificates: words in a line, each step before what it is applied to -- *)

let after_letter w = number_of_word (String.sub w 1 (String.length w - 1))

let refutation protocol line =
  let rest = ref (List.filter (fun w -> w <> "") (String.split_on_char ' ' line)) in
  let next () = match !rest with w :: ws -> rest := ws; w | [] -> fail "a certificate ends too early" in
  let number () = number_of_word (next ()) in
  let rec many n read = if n <= 0 then [] else let x = read () in x :: many (n - 1) read in
  let arity f =
    match declaration_of protocol f with
    | Some d -> List.length d.arguments
    | None -> fail "a certificate applies symbol %d, which is not declared" f
  in
  let rec term () =
    let w = next () in
    match if w = "" then ' ' else w.[0] with
    | 'e' -> Eigen (after_letter w)
    | 'm' -> Member (after_letter w)
    | 'f' -> let f = after_letter w in Apply (f, many (arity f) term)
    | _ -> fail "expected a term in a certificate, found %s" w
  in
  let rec step () =
    match next () with
    | "u" -> let h = number () in Use (h, step ())
    | "i" -> let k = number () in let n = number () in let ts = many n term in Instance (k, ts, step ())
    | "w" -> let k = number () in Witness (k, step ())
    | "s" -> let k = number () in let first = step () in Split (k, first, step ())
    | "c" -> let n = number () in let t = term () in Cases (t, many n step)
    | "x" -> let places = many (number ()) number in Close (places, many (number ()) rewriting)
    | w -> fail "expected a step of a certificate, found %s" w
  and rewriting () =
    let place = number () in
    match next () with
    | "0" -> (place, false)
    | "1" -> (place, true)
    | w -> fail "expected 0 or 1 in a certificate, found %s" w
  in
  let found = step () in
  if !rest <> [] then fail "a certificate goes on after its end with %s" (List.hd !rest);
  found

(* The certificates of every layer: a line "layer T" begins those of the threat model T. *)
let certificates system text =
  let lines = List.filter (fun line -> line <> "") (String.split_on_char '\n' text) in
  let rec split found = function
    | line :: lines when String.length line > 5 && String.sub line 0 6 = "layer " ->
        split ((String.sub line 6 (String.length line - 6), []) :: found) lines
    | line :: lines -> (
        match found with
        | (threat, those) :: others -> split ((threat, refutation system.protocol line :: those) :: others) lines
        | [] -> fail "expected a line that names a layer, found %s" line)
    | [] -> List.rev_map (fun (threat, those) -> (threat, List.rev those)) found
  in
  let found = split [] lines in
  let expected = List.map (fun l -> l.threat) system.layers and given = List.map fst found in
  if given <> expected then
    fail "expected certificates of the layers %s, found %s" (String.concat ", " expected) (String.concat ", " given);
  List.map snd found

(* -- formulas as text, in the form in which they are read -- *)

let listed show xs = "(" ^ String.concat " " (List.map show xs) ^ ")"

let rec of_term = function
  | Bound k -> Printf.sprintf "(Bound %d)" k
  | Eigen n -> Printf.sprintf "(Eigen %d)" n
  | Member m -> Printf.sprintf "(Member %d)" m
  | Apply (f, ts) -> Printf.sprintf "(Apply %d %s)" f (listed of_term ts)

let rec of_formula = function
  | Const b -> Printf.sprintf "(Const %b)" b
  | Holds (r, ts) -> Printf.sprintf "(Holds %d %s)" r (listed of_term ts)
  | Equal (a, b) -> Printf.sprintf "(Equal %s %s)" (of_term a) (of_term b)
  | Not f -> Printf.sprintf "(Not %s)" (of_formula f)
  | And (f, g) -> Printf.sprintf "(And %s %s)" (of_formula f) (of_formula g)
  | Or (f, g) -> Printf.sprintf "(Or %s %s)" (of_formula f) (of_formula g)
  | Implies (f, g) -> Printf.sprintf "(Implies %s %s)" (of_formula f) (of_formula g)
  | Choose (c, f, g) -> Printf.sprintf "(Choose %s %s %s)" (of_formula c) (of_formula f) (of_formula g)
  | Forall (s, f) -> Printf.sprintf "(Forall %d %s)" s (of_formula f)
  | Exists (s, f) -> Printf.sprintf "(Exists %d %s)" s (of_formula f)
