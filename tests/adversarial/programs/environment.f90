program environment
  call execute_command_line('env | cut -d= -f1')
end program
