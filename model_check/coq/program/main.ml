(* What Obligations.v and Checker.v define, run on a specification.

   obligations SYSTEM           every obligation of every layer; a formula has a number, and is written once
   check SYSTEM CERTIFICATES    whether the system is well stated and every obligation's certificate is accepted
   after SYSTEM FORMULAS        for each formula what it is at the start and after each action; and what actions ask

   It ends with 0 if all is accepted, 1 if something is refused, and 2 if its input cannot be read. *)
open Kernel
open Reading

let contents file =
  match open_in_bin file with
  | exception Sys_error said -> fail "%s" said
  | channel ->
      Fun.protect ~finally:(fun () -> close_in_noerr channel) (fun () ->
          match really_input_string channel (in_channel_length channel) with
          | text -> text
          | exception (Sys_error _ | End_of_file) -> fail "%s cannot be read" file)

let blamed file read = try read (contents file) with Malformed said -> fail "%s: %s" file said

(* The names of the obligations, in the order of [obligations]; and of the pairs that need none. *)
let pairs_of system layer =
  let claims = List.combine layer.called layer.claims in
  let pair step a (claim, c) = (untouched a c, Printf.sprintf "step/%s/%s" step claim) in
  List.concat (List.map2 (fun step a -> List.map (pair step a) claims) system.steps system.protocol.actions)

let names system layer =
  let touched = List.filter (fun (same, _) -> not same) (pairs_of system layer) in
  List.map (fun claim -> "init/" ^ claim) layer.called @ List.map snd touched

let obligations_of system layer = obligations system.protocol layer.assumed layer.known layer.claims

(* -- obligations -- *)

let numbers = Hashtbl.create 4096

(* Hypotheses are shared between obligations: one that stands where it stood before is not written out again. *)
let number f =
  let text = of_formula f in
  match Hashtbl.find_opt numbers text with
  | Some n -> n
  | None ->
      let n = Hashtbl.length numbers in
      Hashtbl.add numbers text n;
      Printf.printf "formula %d %s\n" n text;
      n

let rec numbered before fs =
  match before, fs with
  | _, [] -> []
  | (g, n) :: before, f :: fs when f == g -> (f, n) :: numbered before fs
  | _ :: before, f :: fs -> let n = number f in (f, n) :: numbered before fs
  | [], f :: fs -> let n = number f in (f, n) :: numbered [] fs

let print_obligations system =
  let print_layer layer =
    let print before (id, o) =
      let found = numbered before o.hypotheses in
      let sorts = listed string_of_int o.constants and those = listed (fun (_, n) -> string_of_int n) found in
      Printf.printf "obligation %s %s %s\n" id sorts those;
      found
    in
    Printf.printf "layer %s\n" layer.threat;
    ignore (List.fold_left print [] (List.combine (names system layer) (obligations_of system layer)));
    List.iter (fun (same, id) -> if same then Printf.printf "untouched %s\n" id) (pairs_of system layer)
  in
  List.iter print_layer system.layers

(* -- certificates -- *)

let check_layer system layer certificates =
  let { protocol; _ } = system in
  let required = obligations_of system layer in
  if List.length certificates <> List.length required then
    fail "layer %s: expected %d certificates, found %d" layer.threat (List.length required) (List.length certificates);
  let stated = well_stated protocol layer.assumed layer.known layer.claims in
  let judged = List.map2 (accepts (whole protocol)) required certificates in
  let refused = List.filter (fun (_, accepted) -> not accepted) (List.combine (names system layer) judged) in
  let total = List.length required in
  Printf.printf "layer %s: %d of %d accepted%s\n" layer.threat (total - List.length refused) total
    (if stated then "" else "; NOT WELL STATED");
  List.iter (fun (id, _) -> Printf.printf "refused %s\n" id) refused;
  stated && refused = []

let check system certificates =
  let sound = List.map2 (check_layer system) system.layers certificates in
  if not (List.for_all Fun.id sound) then exit 1

(* -- what formulas become -- *)

let print_after system formulas =
  let print_action number a =
    let print k f =
      Printf.printf "after %d %d %s\n" number k (of_formula (precondition (List.length a.parameters) a.updates f))
    in
    Printf.printf "asks %d %s\n" number (listed of_formula (a.guards @ drawn_apart a));
    List.iteri print formulas
  in
  List.iteri (fun k f -> Printf.printf "start %d %s\n" k (of_formula (initially_true system.protocol f))) formulas;
  List.iteri print_action system.protocol.actions

(* -- the command -- *)

let run = function
  | [ "obligations"; file ] -> print_obligations (blamed file system)
  | [ "check"; file; answers ] ->
      let found = blamed file system in
      check found (blamed answers (certificates found))
  | [ "after"; file; formulas ] ->
      let found = blamed file system in
      print_after found (blamed formulas (fun text -> List.map formula (values text)))
  | _ -> fail "expected obligations SYSTEM, check SYSTEM CERTIFICATES, or after SYSTEM FORMULAS"

let () =
  try run (List.tl (Array.to_list Sys.argv)) with
  | Malformed said | Sys_error said -> prerr_endline ("error: " ^ said); exit 2
  | Stack_overflow -> prerr_endline "error: the input is nested too deeply"; exit 2
