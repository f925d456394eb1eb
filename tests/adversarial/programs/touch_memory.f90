program touch
  type link
    real(8) :: room(131072)
    type(link), pointer :: next
  end type
  type(link), pointer :: first, fresh
  nullify (first)
  do
    allocate (fresh)
    fresh%room = 1
    fresh%next => first
    first => fresh
  end do
end program
