let m = Scanf.scanf " %d" (fun x -> x)
let x = List.init m (fun _ -> Scanf.scanf " %d" (fun x -> x))

let () = print_int (@k@ + List.fold_left min (List.hd x) x)
