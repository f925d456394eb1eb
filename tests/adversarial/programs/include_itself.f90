include 'snippet.f90'
end program
