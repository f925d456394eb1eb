program endless
  use iso_fortran_env
  do
    write (error_unit, '(a)') repeat('x', 4096)
  end do
end program
