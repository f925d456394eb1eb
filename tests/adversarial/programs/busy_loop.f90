program busy
  integer, volatile :: count = 0
  do
    count = ieor(count, 1)
  end do
end program
