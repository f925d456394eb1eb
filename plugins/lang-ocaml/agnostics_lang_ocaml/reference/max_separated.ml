let x = List.map int_of_string (String.split_on_char '@sep@' (read_line ()))

let () = print_int (List.fold_left max (List.hd x) x)
