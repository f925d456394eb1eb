program loop
  implicit none
  integer, volatile :: turns
  turns = 0
  do
    turns = 1 - turns
  end do
end program loop
