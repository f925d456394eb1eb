let words = String.split_on_char ' ' (read_line ())

let () = print_string (String.concat "@sep@" words)
