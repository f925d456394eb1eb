include '/dev/urandom'
end program
