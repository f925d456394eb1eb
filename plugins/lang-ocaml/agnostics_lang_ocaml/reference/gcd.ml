let n = Scanf.scanf " %d" (fun x -> x)

let rec gcd a b = if b = 0 then a else gcd b (a mod b)

let () = print_int (gcd n @k@)
