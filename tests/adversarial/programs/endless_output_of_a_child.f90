! The one that writes is not the one that is watched.
program child
  use libc
  integer(c_long) :: ignore
  if (fork() == 0) then
    do
      ignore = write_bytes(1, repeat('x', 4096), 4096_c_long)
    end do
  end if
  do
    ignore = pause()
  end do
end program
