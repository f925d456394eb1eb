let s = read_line ()

let () =
  let count = ref 0 in
  String.iter (fun c -> if c = '@c@' then incr count) s;
  print_int !count
