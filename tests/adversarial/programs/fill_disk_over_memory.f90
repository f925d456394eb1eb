! What stands on a RAM disk counts as memory.
program fill
  character(len=1048576) :: block
  character(len=16) :: name
  integer :: i, k, status
  block = repeat('x', len(block))
  do i = 1, 400
    write (name, '(a,i0)') '/tmp/', i
    open (unit=10, file=trim(name), access='stream', form='unformatted', iostat=status)
    if (status /= 0) exit
    do k = 1, 4
      write (10, iostat=status) block
    end do
    close (10, iostat=status)
  end do
  print *, 42
end program
