let s = read_line ()

let () =
  print_int (match String.index_opt s '@c@' with Some i -> i + 1 | None -> 0)
