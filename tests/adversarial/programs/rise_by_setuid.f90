! Programs of root's that would run as root, and one's own that pretends to be.
program rise
  use libc
  integer :: status
  call try('su -c id')
  call try('mount -t tmpfs none /tmp')
  call try('umount /proc')
  call try('passwd -d root')
  call execute_command_line('cp /bin/grep /tmp/grep && chmod 6755 /tmp/grep')
  call try('/tmp/grep -qE "^[UG]id:.*[[:space:]]0([[:space:]]|$)|^Cap[IPEA][a-z]+:.*[1-9a-f]|NoNewPrivs:.0" /proc/self/status')
  call say('42')
contains
  subroutine try(command)
    character(len=*) :: command
    call execute_command_line('( ' // command // ' ) </dev/null >/dev/null 2>&1', exitstat=status)
    if (status == 0) call say('allowed ' // command)
  end subroutine
end program
