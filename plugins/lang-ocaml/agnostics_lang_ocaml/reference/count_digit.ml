let n = Scanf.scanf " %d" (fun x -> x)

let rec count n =
  if n = 0 then 0 else (if n mod 10 = @d@ then 1 else 0) + count (n / 10)

let () = print_int (count n)
