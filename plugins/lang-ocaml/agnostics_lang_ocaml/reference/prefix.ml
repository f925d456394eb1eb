let s = read_line ()

let () = print_string (String.sub s 0 (min @k@ (String.length s)))
