(* What Exhaustion.v checks, run on an instance and the states that a search visited.

   carnet-exhaust SYSTEM INSTANCE <STATES

   Only [exhausted_by] says whether the certificate is accepted. What is made here beside what is read is a guess that
   it checks: the bits of a state, where a step leads, where a state stands among the others, and how steps are sorted.
   The guesses are functions in the sense of Coq: they keep no state.

   It ends with 0 if the certificate is accepted, 1 if it is refused, and 2 if its input cannot be read. *)
open Kernel
open Reading

let word_bits = 60

(* -- the instance -- *)

let thing = function
  | List [ Word "Named"; m ] -> Named (name m)
  | v -> Thing (name v)

let pair first second = function List [ x; y ] -> (first x, second y) | v -> unexpected "a pair" v
let row = all thing
let table = all (pair name (all (pair row thing)))

let instance_of = function
  | List [ Word "Instance"; ts; fs; vs; x ] ->
      { things = all (pair name row) ts; facts0 = all (pair name (all row)) fs; values = table vs; somebody = thing x }
  | v -> unexpected "an instance" v

let limits_of = function
  | List [ Word "Limits"; ps; ss ] ->
      let pool = function List [ i; j; xs ] -> (count i, (count j, row xs)) | v -> unexpected "a pool" v in
      { pools = all pool ps; starting = table ss }
  | v -> unexpected "limits" v

(* -- bits -- *)

let place i j =
  let i = count i and j = count j in
  if j < word_bits then (i, j) else fail "expected a bit below %d, found %d" word_bits j

let status = function
  | Word "Never" -> Never
  | Word "Always" -> Always
  | Word "Open" -> Open
  | List [ Word "Exactly"; i; j ] -> Exactly (place i j)
  | List [ Word "AtMost"; i; j ] -> AtMost (place i j)
  | v -> unexpected "what is known of a fact" v

let known_of = function
  | List [ Word "Known"; List symbols ] ->
      let usual = Hashtbl.create 64 and told = Hashtbl.create 4096 in
      let fact symbol = function
        | List [ r; x; st ] ->
            let x = match x with Word "None" -> None | x -> Some (thing x) in
            Hashtbl.replace told (symbol, row r, x) (status st)
        | v -> unexpected "a fact" v
      in
      let each = function
        | List [ s; u; List facts ] -> Hashtbl.replace usual (name s) (status u); List.iter (fact (name s)) facts
        | v -> unexpected "what is known of a symbol" v
      in
      List.iter each symbols;
      let default symbol = Option.value ~default:Open (Hashtbl.find_opt usual symbol) in
      fun symbol row value -> Option.value ~default:(default symbol) (Hashtbl.find_opt told (symbol, row, value))
  | v -> unexpected "what is known" v

type field = { shift : int; width : int; bits_of : (int * int) option array }

let field = function
  | List [ s; w; List bits ] ->
      let bit = function Word "None" -> None | List [ i; j ] -> Some (place i j) | v -> unexpected "a bit" v in
      { shift = count s; width = count w; bits_of = Array.of_list (List.map bit bits) }
  | v -> unexpected "a field" v

(* Packed states as a table: a column for each byte, the highest first, with a row for each state. *)
type table = { columns : string; rows : int; bytes : int }

let number_in table row field =
  let rec from k = if k < 0 then 0 else
    let bit = field.shift + k in
    let byte = table.columns.[((table.bytes - 1 - (bit lsr 3)) * table.rows) + row] in
    (from (k - 1)) lor (((Char.code byte lsr (bit land 7)) land 1) lsl k)
  in
  from (field.width - 1)

let words fields =
  let word most = function Some (i, _) -> max most (i + 1) | None -> most in
  Array.fold_left (fun most field -> Array.fold_left word most field.bits_of) 0 fields

let unpacked fields size table row =
  let found = Array.make size 0 in
  let set field =
    let n = number_in table row field in
    if n >= Array.length field.bits_of then fail "a state has the number %d of a value" n;
    match field.bits_of.(n) with Some (i, j) -> found.(i) <- found.(i) lor (1 lsl j) | None -> ()
  in
  Array.iter set fields;
  Array.to_list found

(* -- where a state stands -- *)

let digit = [| D0; D1; D2; D3; D4; D5; D6; D7 |]
let hash s =
  let h = List.fold_left (fun h w -> (h lxor w) * 0x2545F4914F6CDD1D) 0x1234567 s in
  h lxor (h lsr 29) lxor (h lsr 47)
let rec digits_of h levels = if levels = 0 then [] else digit.(h land 7) :: digits_of (h lsr 3) (levels - 1)

let levels_for count = let rec up n k = if n >= count then k else up (8 * n) (k + 1) in max 0 (up 8 0)

let shelf_of levels states =
  let rec build level low states =
    if level = levels then Shelf (List.map snd states)
    else begin
      let parts = Array.make 8 [] in
      List.iter (fun ((h, _) as state) -> let d = (h lsr low) land 7 in parts.(d) <- state :: parts.(d)) states;
      let part d = build (level + 1) (low + 3) parts.(d) in
      let s0 = part 0 in let s1 = part 1 in let s2 = part 2 in let s3 = part 3 in
      let s4 = part 4 in let s5 = part 5 in let s6 = part 6 in
      Fork (s0, s1, s2, s3, s4, s5, s6, part 7)
    end
  in
  build 0 0 (List.rev_map (fun s -> (hash s, s)) states)

(* -- where a step leads -- *)

(* Every fact that may hold after a step asks for its bit, so what is asked for is the state after it. *)
let after s m =
  let rec by_words masks s = match masks, s with
    | m :: masks, w :: s -> m.must_be_set lor (m.may_only_rise land w) :: by_words masks s
    | [], s -> List.map (fun _ -> 0) s
    | _ :: _, [] -> []
  in
  let rec with_bit i j = function
    | [] -> []
    | w :: s -> if i = 0 then w lor (1 lsl j) :: s else w :: with_bit (i - 1) j s
  in
  let raised t = function Up ((i, j), g) when eval s g -> with_bit i j t | _ -> t in
  List.fold_left raised (by_words m.asks.masks s) m.asks.others

let rec same (s : int list) t = match s, t with x :: s, y :: t -> x = y && same s t | [], [] -> true | _ -> false
let rec union s t = match s, t with x :: s, y :: t -> (x lor y) :: union s t | s, [] -> s | [], t -> t

(* Whether what a rule concludes holds already. *)
let rec has_all masks s = match masks, s with
  | m :: masks, w :: s -> m.must_be_set land lnot w = 0 && has_all masks s
  | [], _ -> true
  | _ :: _, [] -> false

let saturated rules s =
  let rec again s =
    let found = ref s in
    let conclude = function
      | Leads (g, m) ->
          let plain = match m.asks.others with [] -> true | _ :: _ -> false in
          if not (plain && has_all m.asks.masks !found) && eval s g then found := union !found (after s m);
          true
      | Wrong _ -> true
    in
    ignore (visit s conclude rules);
    if same !found s then s else again !found
  in
  again s

(* A state is saturated, so a rule leads nowhere else. *)
let successor is_rule rules s m =
  if is_rule.(m.by_action) then s
  else
    let t = after s m in
    if same t s then s else let t = saturated rules t in if same t s then s else t

(* -- how steps are sorted: by the literal that most of them need -- *)

let pick items =
  let counts = Hashtbl.create 256 in
  let one l = Hashtbl.replace counts l (1 + Option.value ~default:0 (Hashtbl.find_opt counts l)) in
  List.iter (fun (ls, _) -> List.iter one ls) items;
  let better l n = function Some (_, m) when m >= n -> None | _ -> Some (l, n) in
  let best = Hashtbl.fold (fun l n best -> match better l n best with None -> best | found -> found) counts None in
  match best with Some (l, n) when n > 1 -> Some l | _ -> None

(* -- the command -- *)

let contents file =
  match open_in_bin file with
  | exception Sys_error said -> fail "%s" said
  | channel ->
      Fun.protect ~finally:(fun () -> close_in_noerr channel) (fun () ->
          really_input_string channel (in_channel_length channel))

let read_states fields size rows bytes =
  set_binary_mode_in stdin true;
  let expected () = fail "expected %d states of %d bytes" rows bytes in
  let columns = try really_input_string stdin (rows * bytes) with End_of_file -> expected () in
  let table = { columns; rows; bytes } in
  let fits field = if field.shift + field.width > 8 * bytes then fail "a field ends beyond %d bytes" bytes in
  Array.iter fits fields;
  List.init rows (unpacked fields size table)

let began = Unix.gettimeofday ()
let told form = Printf.ksprintf (fun said -> Printf.printf "%6.1f s  %s\n%!" (Unix.gettimeofday () -. began) said) form

let check system file =
  match values file with
  | [ i; l; List [ Word "Threat"; ts ]; List [ Word "Claims"; names; cs ]; k; List [ Word "Fields"; fs ];
      List [ Word "Rules"; rs ]; List [ Word "States"; rows; bytes; first ] ] ->
      let p = system.protocol and i = instance_of i and l = limits_of l and known = known_of k in
      let threat = all formula ts and claims = all formula cs and rules = all count rs in
      same_length "claims" claims (all word names);
      let fields = Array.of_list (all field fs) in
      let size = words fields in
      let states = read_states fields size (count rows) (count bytes) in
      let start = match List.nth_opt states (count first) with Some s -> s | None -> fail "expected a first state" in
      told "%d states of %d words" (List.length states) size;
      let found = moves p i l known in
      told "%d steps of the instance, of %d actions" (List.length found) (List.length p.actions);
      let is_rule = Array.init (List.length p.actions) (fun number -> List.mem number rules) in
      let of_rules = List.filter (fun m -> is_rule.(m.by_action)) found in
      let rules = net_of pick 100000 (List.map to_follow of_rules) in
      let levels = levels_for (List.length states) in
      let shelf = shelf_of levels states in
      told "sorted";
      let shelved s = digits_of (hash s) levels in
      let accepted = exhausted_by p i l threat claims known (successor is_rule rules) shelved pick 100000 start shelf in
      told "%s: in each of %d states" (if accepted then "accepted" else "REFUSED") (List.length states);
      List.iter (Printf.printf "claim %s\n") (all word names);
      accepted
  | _ -> fail "expected an instance, limits, a threat model, claims, what is known, fields, rules and states"

let () =
  Gc.set { (Gc.get ()) with minor_heap_size = 1 lsl 20; space_overhead = 400 };
  match Sys.argv with
  | [| _; system_file; instance_file |] -> (
      try if not (check (system (contents system_file)) (contents instance_file)) then exit 1 with
      | Malformed said -> prerr_endline ("error: " ^ said); exit 2
      | Stack_overflow -> prerr_endline "error: the input is nested too deeply"; exit 2)
  | _ -> prerr_endline "error: expected carnet-exhaust SYSTEM INSTANCE <STATES"; exit 2
