let m = Scanf.scanf " %d" (fun x -> x)
let x = List.init m (fun _ -> Scanf.scanf " %d" (fun x -> x))

let () = print_string (if List.fold_left ( + ) 0 x > @k@ then "YES" else "NO")
