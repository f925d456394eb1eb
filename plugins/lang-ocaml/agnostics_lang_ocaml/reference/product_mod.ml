let m = Scanf.scanf " %d" (fun x -> x)
let x = List.init m (fun _ -> Scanf.scanf " %d" (fun x -> x))

let () =
  let p = List.fold_left (fun p v -> p * v mod @k@) 1 x in
  print_int ((p + @k@) mod @k@)
