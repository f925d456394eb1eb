let n = Scanf.scanf " %d" (fun x -> x)

let () = print_string (if n mod @k@ = 0 then "YES" else "NO")
