let s = read_line ()

let () = String.iter (fun c -> print_string (String.make @k@ c)) s
