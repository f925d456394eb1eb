let s = read_line ()

let () = String.iter (fun c -> if c <> '@c@' then print_char c) s
