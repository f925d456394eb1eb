let n = Scanf.scanf " %d" (fun x -> x)

let () =
  for i = n downto 1 do
    Printf.printf "%d\n" (i * @k@)
  done
