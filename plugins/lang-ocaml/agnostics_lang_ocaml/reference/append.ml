let s = read_line ()

let () = print_string (s ^ "@w@")
