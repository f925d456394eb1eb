let s = read_line ()

let shift c = Char.chr ((Char.code c - 97 + @k@) mod 26 + 97)

let () = print_string (String.map shift s)
