let s = read_line ()

let () =
  for _ = 1 to @k@ do
    print_string s
  done
