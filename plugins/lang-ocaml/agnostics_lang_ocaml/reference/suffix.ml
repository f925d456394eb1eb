let s = read_line ()

let () =
  let n = String.length s in
  let k = min @k@ n in
  print_string (String.sub s (n - k) k)
