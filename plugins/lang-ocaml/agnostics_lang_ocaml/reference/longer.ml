let s = read_line ()

let () = print_string (if String.length s > @k@ then "YES" else "NO")
