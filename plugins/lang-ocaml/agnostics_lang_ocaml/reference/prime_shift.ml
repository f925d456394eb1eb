let n = Scanf.scanf " %d" (fun x -> x)

let n = n + @k@
let rec prime i = i * i > n || (n mod i <> 0 && prime (i + 1))

let () = print_string (if prime 2 then "YES" else "NO")
