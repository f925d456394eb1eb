let s = read_line ()

let () =
  let missing = max 0 (@k@ - String.length s) in
  print_string (String.make missing '@c@' ^ s)
