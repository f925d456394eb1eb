program main
  implicit none
  integer :: n

  read (*, *) n
  print '(i0)', max(@a@, min(n, @b@))
end program main
