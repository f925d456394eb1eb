let s = read_line ()

let () = print_string (String.map (fun c -> if c = '@c@' then '@d@' else c) s)
