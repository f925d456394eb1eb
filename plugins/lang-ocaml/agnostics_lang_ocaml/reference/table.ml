let n = Scanf.scanf " %d" (fun x -> x)

let () =
  for i = 1 to n do
    Printf.printf "%d " (i * @k@)
  done
