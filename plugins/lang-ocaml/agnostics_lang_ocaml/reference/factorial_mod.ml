let n = Scanf.scanf " %d" (fun x -> x)

let () =
  let p = ref 1 in
  for i = 1 to n do
    p := !p * i mod @k@
  done;
  print_int !p
