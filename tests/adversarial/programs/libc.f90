! What a Fortran program calls in the C library; stands before each of the programs here.
module libc
  use iso_c_binding
  implicit none
  integer(c_int), parameter :: readable = 0, writable = 1, both_ways = 2, create = 64, truncate = 512
  integer(c_intptr_t), parameter :: ignored = 1
  character, parameter :: nul = c_null_char
  interface
    integer(c_int) function fork() bind(c); import; end function
    integer(c_int) function setsid() bind(c); import; end function
    integer(c_int) function getpid() bind(c); import; end function
    integer(c_int) function getppid() bind(c); import; end function
    integer(c_int) function getuid() bind(c); import; end function
    integer(c_int) function geteuid() bind(c); import; end function
    integer(c_int) function getgid() bind(c); import; end function
    integer(c_int) function pause() bind(c); import; end function
    integer(c_int) function usleep(us) bind(c); import; integer(c_int), value :: us; end function
    integer(c_int) function kill(pid, number) bind(c); import; integer(c_int), value :: pid, number; end function
    integer(c_int) function waitpid(pid, status, options) bind(c)
      import; integer(c_int), value :: pid, options; integer(c_int) :: status
    end function
    subroutine leave(code) bind(c, name='_exit'); import; integer(c_int), value :: code; end subroutine
    integer(c_intptr_t) function signal(number, handler) bind(c)
      import; integer(c_int), value :: number; integer(c_intptr_t), value :: handler
    end function
    integer(c_int) function execvp(path, arguments) bind(c)
      import; character(kind=c_char) :: path(*); type(c_ptr) :: arguments(*)
    end function
    integer(c_int) function open_file(path, flags, mode) bind(c, name='open')
      import; character(kind=c_char) :: path(*); integer(c_int), value :: flags, mode
    end function
    integer(c_int) function close_file(fd) bind(c, name='close'); import; integer(c_int), value :: fd; end function
    integer(c_int) function dup2(from, to) bind(c); import; integer(c_int), value :: from, to; end function
    integer(c_int) function fcntl(fd, what, value) bind(c)
      import; integer(c_int), value :: fd, what; integer(c_long), value :: value
    end function
    integer(c_int) function flock(fd, what) bind(c); import; integer(c_int), value :: fd, what; end function
    integer(c_long) function write_bytes(fd, bytes, count) bind(c, name='write')
      import; integer(c_int), value :: fd; character(kind=c_char) :: bytes(*); integer(c_long), value :: count
    end function
    integer(c_long) function read_bytes(fd, bytes, count) bind(c, name='read')
      import; integer(c_int), value :: fd; character(kind=c_char) :: bytes(*); integer(c_long), value :: count
    end function
    integer(c_long) function lseek(fd, offset, whence) bind(c)
      import; integer(c_int), value :: fd, whence; integer(c_long), value :: offset
    end function
    integer(c_int) function ftruncate(fd, size) bind(c)
      import; integer(c_int), value :: fd; integer(c_long), value :: size
    end function
    integer(c_int) function fchmod(fd, mode) bind(c); import; integer(c_int), value :: fd, mode; end function
    integer(c_int) function memfd_create(name, flags) bind(c)
      import; character(kind=c_char) :: name(*); integer(c_int), value :: flags
    end function
    integer(c_int) function mkdir(path, mode) bind(c)
      import; character(kind=c_char) :: path(*); integer(c_int), value :: mode
    end function
    integer(c_int) function mkfifo(path, mode) bind(c)
      import; character(kind=c_char) :: path(*); integer(c_int), value :: mode
    end function
    integer(c_int) function change_mode(path, mode) bind(c, name='chmod')
      import; character(kind=c_char) :: path(*); integer(c_int), value :: mode
    end function
    integer(c_int) function symlink(to, path) bind(c); import; character(kind=c_char) :: to(*), path(*); end function
    integer(c_int) function hard_link(to, path) bind(c, name='link')
      import; character(kind=c_char) :: to(*), path(*)
    end function
    integer(c_int) function move(from, to) bind(c, name='rename'); import; character(kind=c_char) :: from(*), to(*)
    end function
    integer(c_int) function remove_file(path) bind(c, name='unlink'); import; character(kind=c_char) :: path(*)
    end function
    integer(c_int) function enter(path) bind(c, name='chdir'); import; character(kind=c_char) :: path(*); end function
    integer(c_int) function find_access(path, mode) bind(c, name='access')
      import; character(kind=c_char) :: path(*); integer(c_int), value :: mode
    end function
    integer(c_long) function readlink(path, bytes, count) bind(c)
      import; character(kind=c_char) :: path(*), bytes(*); integer(c_long), value :: count
    end function
    type(c_ptr) function opendir(path) bind(c); import; character(kind=c_char) :: path(*); end function
    type(c_ptr) function malloc(size) bind(c); import; integer(c_size_t), value :: size; end function
    type(c_ptr) function memset(to, byte, size) bind(c)
      import; type(c_ptr), value :: to; integer(c_int), value :: byte; integer(c_size_t), value :: size
    end function
    type(c_ptr) function mmap(at, size, protection, flags, fd, offset) bind(c)
      import; type(c_ptr), value :: at; integer(c_size_t), value :: size
      integer(c_int), value :: protection, flags, fd; integer(c_long), value :: offset
    end function
    integer(c_int) function pthread_create(thread, attributes, start, argument) bind(c)
      import; integer(c_long) :: thread; type(c_ptr), value :: attributes, argument; type(c_funptr), value :: start
    end function
    integer(c_int) function getrlimit(what, both) bind(c)
      import; integer(c_int), value :: what; integer(c_long) :: both(2)
    end function
    integer(c_int) function setrlimit(what, both) bind(c)
      import; integer(c_int), value :: what; integer(c_long) :: both(2)
    end function
    integer(c_int) function prlimit(pid, what, both, old) bind(c)
      import; integer(c_int), value :: pid, what; integer(c_long) :: both(2); type(c_ptr), value :: old
    end function
    integer(c_int) function nice(by) bind(c); import; integer(c_int), value :: by; end function
    integer(c_int) function setpriority(what, who, to) bind(c); import; integer(c_int), value :: what, who, to
    end function
    integer(c_int) function sched_setaffinity(pid, size, mask) bind(c)
      import; integer(c_int), value :: pid; integer(c_size_t), value :: size; integer(c_long) :: mask
    end function
    integer(c_int) function sched_setscheduler(pid, policy, priority) bind(c)
      import; integer(c_int), value :: pid, policy; integer(c_int) :: priority
    end function
    integer(c_long) function ptrace(request, pid, at, data) bind(c)
      import; integer(c_long), value :: request; integer(c_int), value :: pid; type(c_ptr), value :: at, data
    end function
    integer(c_int) function socket(family, kind, protocol) bind(c)
      import; integer(c_int), value :: family, kind, protocol
    end function
    integer(c_int) function connect(fd, address, size) bind(c)
      import; integer(c_int), value :: fd, size; character(kind=c_char) :: address(*)
    end function
    integer(c_int) function bind_socket(fd, address, size) bind(c, name='bind')
      import; integer(c_int), value :: fd, size; character(kind=c_char) :: address(*)
    end function
    integer(c_int) function eventfd(start, flags) bind(c); import; integer(c_int), value :: start, flags; end function
    integer(c_int) function epoll_create1(flags) bind(c); import; integer(c_int), value :: flags; end function
    integer(c_int) function inotify_init1(flags) bind(c); import; integer(c_int), value :: flags; end function
    integer(c_int) function unshare(what) bind(c); import; integer(c_int), value :: what; end function
    integer(c_int) function mount(what, where, kind, flags, options) bind(c)
      import; character(kind=c_char) :: what(*), where(*), kind(*)
      integer(c_long), value :: flags; type(c_ptr), value :: options
    end function
    integer(c_int) function umount2(where, flags) bind(c)
      import; character(kind=c_char) :: where(*); integer(c_int), value :: flags
    end function
    integer(c_int) function chroot(path) bind(c); import; character(kind=c_char) :: path(*); end function
    integer(c_int) function shmget(key, size, mode) bind(c)
      import; integer(c_int), value :: key, mode; integer(c_size_t), value :: size
    end function
    integer(c_int) function msgget(key, mode) bind(c); import; integer(c_int), value :: key, mode; end function
    integer(c_int) function semget(key, count, mode) bind(c)
      import; integer(c_int), value :: key, count, mode
    end function
    integer(c_int) function personality(what) bind(c); import; integer(c_long), value :: what; end function
    integer(c_int) function setuid(id) bind(c); import; integer(c_int), value :: id; end function
    integer(c_int) function setgid(id) bind(c); import; integer(c_int), value :: id; end function
    integer(c_int) function sethostname(name, size) bind(c)
      import; character(kind=c_char) :: name(*); integer(c_size_t), value :: size
    end function
    integer(c_long) function syscall(number, a, b, c, d, e, f) bind(c)
      import; integer(c_long), value :: number, a, b, c, d, e, f
    end function
  end interface
contains
  subroutine say(text)
    character(len=*) :: text
    if (write_bytes(1, text // new_line('a'), len(text) + 1_c_long) < 0) call leave(1)
  end subroutine
  subroutine put_into(path, text)
    character(len=*) :: path, text
    integer :: fd, ignore
    fd = open_file(path // nul, ior(writable, create), int(o'600'))
    if (fd >= 0) ignore = int(write_bytes(fd, text, len(text, c_long)))
    if (fd >= 0) ignore = close_file(fd)
  end subroutine
  function text_of(number) result(text)
    integer, value :: number
    character(len=:), allocatable :: text
    character(len=12) :: room
    write (room, '(i0)') number
    text = trim(room)
  end function
end module
