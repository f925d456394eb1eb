let n = Scanf.scanf " %d" (fun x -> x)

let () = print_int (n mod @k@)
