program main
  implicit none
  integer :: n
  character(len=32) :: digits

  read (*, *) n
  digits = ""
  do while (n > 0)
    digits = char(ichar("0") + mod(n, @k@)) // digits(:31)
    n = n / @k@
  end do
  print '(a)', trim(digits)
end program main
