let s = read_line ()

let () = print_string (if String.contains s '@c@' then "YES" else "NO")
