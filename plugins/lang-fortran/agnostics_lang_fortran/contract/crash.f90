program crash
  implicit none
  error stop "on purpose"
end program crash
