let s = read_line ()

let () =
  for i = String.length s - 1 downto 0 do
    print_char s.[i]
  done;
  print_string "@w@"
