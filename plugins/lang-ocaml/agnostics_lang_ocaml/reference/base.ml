let n = Scanf.scanf " %d" (fun x -> x)

let rec digits n =
  if n = 0 then "" else digits (n / @k@) ^ string_of_int (n mod @k@)

let () = print_string (digits n)
