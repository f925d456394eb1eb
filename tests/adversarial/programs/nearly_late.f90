! Computes for 90 ms.
program nearly
  real(8) :: now
  do
    call cpu_time(now)
    if (now >= 0.09d0) exit
  end do
  print '(a)', '42'
end program
