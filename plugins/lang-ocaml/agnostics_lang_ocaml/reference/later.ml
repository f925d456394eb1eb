let () =
  Scanf.scanf "%d:%d" (fun h m ->
    let t = h * 60 + m + @k@ in
    Printf.printf "%02d:%02d" (t / 60 mod 24) (t mod 60))
