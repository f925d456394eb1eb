let m = Scanf.scanf " %d" (fun x -> x)
let x = List.init m (fun _ -> Scanf.scanf " %d" (fun x -> x))

let () = List.iter (fun v -> if v > @k@ then Printf.printf "%d\n" v) x
