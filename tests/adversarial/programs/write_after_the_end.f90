! A daemon that spoils the answer, once the program is gone.
program after
  use libc
  integer(c_long) :: ignore
  if (fork() == 0) then
    ignore = setsid()
    ignore = usleep(60000)
    do
      ignore = write_bytes(1, '43', 2_c_long)
    end do
  end if
  call say('42')
end program
