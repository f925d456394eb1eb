let n = Scanf.scanf " %d" (fun x -> x)

let () = print_int ((n + @k@ - 1) / @k@ * @k@)
