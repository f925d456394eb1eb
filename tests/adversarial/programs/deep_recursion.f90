program recursion
  print *, deeper(0)
contains
  recursive integer function deeper(n) result(sum)
    integer, value :: n
    integer, volatile :: room(250)
    room = n
    sum = deeper(n + 1) + room(mod(n, 250) + 1)
  end function
end program
