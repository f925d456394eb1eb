let m = Scanf.scanf " %d" (fun x -> x)
let x = List.init m (fun _ -> Scanf.scanf " %d" (fun x -> x))

let () = List.iter (fun v -> Printf.printf "%d " (v * @k@)) x
