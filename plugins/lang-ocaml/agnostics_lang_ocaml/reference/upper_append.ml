let s = read_line ()

let () = print_string (String.uppercase_ascii s ^ "@w@")
