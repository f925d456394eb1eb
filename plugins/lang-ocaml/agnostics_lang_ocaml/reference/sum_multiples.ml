let n = Scanf.scanf " %d" (fun x -> x)

let () =
  let sum = ref 0 in
  for i = 1 to n do
    if i mod @k@ = 0 then sum := !sum + i
  done;
  print_int !sum
