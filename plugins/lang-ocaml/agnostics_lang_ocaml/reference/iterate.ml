let n = Scanf.scanf " %d" (fun x -> x)

let rec go n k =
  if k = 0 then n
  else go (if n mod 2 = 0 then n / 2 else 3 * n + 1) (k - 1)

let () = print_int (go n @k@)
