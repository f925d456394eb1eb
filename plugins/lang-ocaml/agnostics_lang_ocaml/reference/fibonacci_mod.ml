let n = Scanf.scanf " %d" (fun x -> x)

let rec fib a b n = if n = 0 then a else fib b ((a + b) mod @k@) (n - 1)

let () = print_int (fib 0 1 n)
