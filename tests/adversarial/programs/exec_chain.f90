program chain
  use libc
  integer :: left, ignore
  character(len=12), target :: text
  character(len=6), target :: name = 'chain' // nul
  left = 300
  if (command_argument_count() > 0) then
    call get_command_argument(1, text)
    read (text, *) left
  end if
  text = text_of(left - 1) // nul
  if (left > 0) ignore = execvp('./snippet.out' // nul, [c_loc(name), c_loc(text), c_null_ptr])
  print '(a)', '42'
end program
