! Executes itself again and again with as many bytes of arguments as the kernel takes.
program arguments
  use libc
  integer :: left, ignore
  character(len=12), target :: text
  character(len=100000), target :: block
  type(c_ptr) :: all(21)
  left = 25
  if (command_argument_count() > 0) then
    call get_command_argument(1, text)
    read (text, *) left
  end if
  block = repeat('x', 99999) // nul
  text = text_of(left - 1) // nul
  all = c_loc(block)
  all(2) = c_loc(text)
  all(21) = c_null_ptr
  if (left > 0) ignore = execvp('./snippet.out' // nul, all)
  print '(a)', '42'
end program
