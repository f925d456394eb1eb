let words = String.split_on_char ' ' (read_line ())

let () = print_string (String.concat "@sep@" (List.map (fun w -> String.sub w 0 1) words))
