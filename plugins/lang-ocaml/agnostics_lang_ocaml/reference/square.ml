let n = Scanf.scanf " %d" (fun x -> x)

let () =
  for _ = 1 to n do
    print_endline (String.make n '@c@')
  done
