program flood
  implicit none
  do
    print '(a)', "more and more"
  end do
end program flood
