let words = String.split_on_char ' ' (read_line ())

let () = print_int (List.length words + @k@)
