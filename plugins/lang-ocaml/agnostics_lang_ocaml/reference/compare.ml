let n = Scanf.scanf " %d" (fun x -> x)

let () = print_string (if n < @k@ then "less" else if n > @k@ then "greater" else "equal")
