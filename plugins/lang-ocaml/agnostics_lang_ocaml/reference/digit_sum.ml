let n = Scanf.scanf " %d" (fun x -> x)

let rec sum n = if n = 0 then 0 else n mod 10 + sum (n / 10)

let () = print_int (sum n * @k@)
