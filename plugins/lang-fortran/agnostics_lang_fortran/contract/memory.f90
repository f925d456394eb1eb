program memory
  implicit none
  type block
    integer :: numbers(100000)
    type(block), pointer :: previous => null()
  end type block
  type(block), pointer :: last, next
  last => null()
  do
    allocate (next)
    next%numbers = 7
    next%previous => last
    last => next
  end do
end program memory
