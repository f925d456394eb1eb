program endless
  do
    write (*, '(a)', advance='no') repeat('x', 4096)
  end do
end program
