let n = Scanf.scanf " %d" (fun x -> x)

let () =
  for i = 1 to n do
    print_endline (if i mod @k@ = 0 then "@w@" else string_of_int i)
  done
