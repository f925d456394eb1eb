let m = Scanf.scanf " %d" (fun x -> x)
let x = List.init m (fun _ -> Scanf.scanf " %d" (fun x -> x))

let rec find i = function
  | [] -> 0
  | v :: rest -> if v = @k@ then i else find (i + 1) rest

let () = print_int (find 1 x)
