program stopped
  use libc
  integer :: ignore
  ignore = fork()
  ignore = kill(0, 19)
end program
