include '/dev/zero'
end program
