program peek
  use libc
  integer :: pid, fd, found
  character(len=4096) :: text
  character(len=:), allocatable :: folder
  found = 0
  do fd = 3, 1023
    if (fcntl(fd, 1, 0_c_long) >= 0) found = found + 1
  end do
  do pid = 1, 100
    if (pid == getpid()) cycle
    folder = '/proc/' // text_of(pid)
    call try(open_file(folder // '/mem' // nul, 0, 0))
    call try(open_file(folder // '/maps' // nul, 0, 0))
    call try(open_file(folder // '/environ' // nul, 0, 0))
    call try(open_file(folder // '/auxv' // nul, 0, 0))
    do fd = 0, 15
      call try(open_file(folder // '/fd/' // text_of(fd) // nul, 0, 0))
    end do
    if (c_associated(opendir(folder // '/fd' // nul))) found = found + 1
    call try(int(readlink(folder // '/root' // nul, text, 4096_c_long)))
    call try(int(ptrace(16_c_long, pid, c_null_ptr, c_null_ptr)))
  end do
  call say(text_of(found))
contains
  subroutine try(result)
    integer, value :: result
    if (result >= 0) found = found + 1
  end subroutine
end program
