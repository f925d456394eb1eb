program ways_out
  use libc
  integer :: i, kind, families(7) = [2, 10, 40, 16, 38, 17, 44]
  integer(c_long), target :: room(512) = 0
  integer(c_long) :: at
  at = transfer(c_loc(room), at)
  do i = 1, 7
    do kind = 1, 5
      call try('socket', socket(families(i), kind, 0))
    end do
  end do
  call try('mount', mount('none' // nul, '/tmp' // nul, 'tmpfs' // nul, 0_c_long, c_null_ptr))
  call try('umount', umount2('/proc' // nul, 2))
  call try('chroot', chroot('/tmp' // nul))
  call try('new user namespace', unshare(int(z'10000000')))
  call try('new mount namespace', unshare(int(z'20000')))
  call try('new network', unshare(int(z'40000000')))
  call try('shared memory', shmget(0, 4096_c_size_t, int(o'1777')))
  call try('queue', msgget(0, int(o'1777')))
  call try('semaphore', semget(0, 1, int(o'1777')))
  call try('personality', personality(int(z'40000', c_long)))
  call try('root', setuid(0))
  call try('root', setgid(0))
  call try('name', sethostname('x' // nul, 1_c_size_t))
  call try('io_uring', int(syscall(425_c_long, 8_c_long, at, 0_c_long, 0_c_long, 0_c_long, 0_c_long)))
  call try('clone3', int(syscall(435_c_long, at, 88_c_long, 0_c_long, 0_c_long, 0_c_long, 0_c_long)))
  if (getuid() == 0 .or. geteuid() == 0 .or. getgid() == 0) call say('root')
  call dial('/var/run/docker.sock')
  call dial('/run/docker.sock')
  call dial('/run/agnostics/socket')
  call say('end')
contains
  subroutine dial(path)
    character(len=*) :: path
    call try(path, connect(socket(1, 1, 0), char(1) // nul // path // repeat(nul, 108 - len(path)), 110))
  end subroutine
  subroutine try(name, result)
    character(len=*) :: name
    integer, value :: result
    if (result >= 0) call say('allowed ' // name)
  end subroutine
end program
