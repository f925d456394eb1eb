let n = Scanf.scanf " %d" (fun x -> x)

let () =
  for i = 1 to n do
    print_endline (String.make i '@c@')
  done
