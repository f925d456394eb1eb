let n = Scanf.scanf " %d" (fun x -> x)

let () = print_int (max @a@ (min n @b@))
