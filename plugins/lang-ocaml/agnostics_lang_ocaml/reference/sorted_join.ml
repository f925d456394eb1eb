let m = Scanf.scanf " %d" (fun x -> x)
let x = List.init m (fun _ -> Scanf.scanf " %d" (fun x -> x))

let () = print_string (String.concat "@sep@" (List.map string_of_int (List.sort compare x)))
