let n = Scanf.scanf " %d" (fun x -> x)

let () =
  let n = n + @k@ in
  let count = ref 0 in
  for i = 1 to n do
    if n mod i = 0 then incr count
  done;
  print_int !count
