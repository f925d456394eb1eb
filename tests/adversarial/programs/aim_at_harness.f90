program aim
  use libc
  integer(c_int) :: none = 0, first = 1
  integer(c_long) :: mask = 1
  call try('priority', setpriority(0, 1, 19))
  call try('own priority', setpriority(0, 0, -5))
  call try('affinity', sched_setaffinity(1, 8_c_size_t, mask))
  call try('scheduler', sched_setscheduler(1, 5, none))
  call try('first in first out', sched_setscheduler(0, 1, first))
  print '(a)', '42'
contains
  subroutine try(name, result)
    character(len=*) :: name
    integer(c_int), value :: result
    if (result >= 0) print '(a)', 'allowed ' // name
  end subroutine
end program
