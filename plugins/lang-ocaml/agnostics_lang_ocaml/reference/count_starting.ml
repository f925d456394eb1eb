let words = String.split_on_char ' ' (read_line ())

let () = print_int (List.length (List.filter (fun w -> w.[0] = '@c@') words))
