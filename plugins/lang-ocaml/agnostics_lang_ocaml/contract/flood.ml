let () = while true do print_endline "more and more" done
