program dump
  call abort()
end program
