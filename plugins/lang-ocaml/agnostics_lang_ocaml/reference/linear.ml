let n = Scanf.scanf " %d" (fun x -> x)

let () = print_int (@a@ * n + @b@)
