program locks
  use libc
  integer :: i, ignore, files(7)
  files = [0, 1, 2, open_file('/w' // nul, 0, 0), open_file('/tmp' // nul, 0, 0), &
           open_file('snippet.out' // nul, 0, 0), open_file('/tmp/mine' // nul, 66, 384)]
  do i = 1, 7
    ignore = flock(files(i), 6)
    ignore = fcntl(files(i), 1024, 0_c_long)
    ignore = fcntl(files(i), 1024, 1_c_long)
  end do
  if (fork() == 0) then
    do
      ignore = pause()
    end do
  end if
  print '(a)', '42'
end program
