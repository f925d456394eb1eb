let n = Scanf.scanf " %d" (fun x -> x)

let () = print_int (max n @k@)
