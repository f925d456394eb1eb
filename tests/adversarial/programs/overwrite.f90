program overwrite
  use libc
  call spoil('/w/snippet.f90')
  call spoil('/w/snippet.out')
  call spoil('/harness')
  call spoil('/usr/bin/gfortran')
  call spoil('/bin/sh')
  call spoil('/etc/x')
  call spoil('/x')
  call spoil('/dev/x')
  call spoil('/dev/shm/x')
  call spoil('/proc/sys/kernel/core_pattern')
  call spoil('/proc/1/oom_score_adj')
  call spoil('/proc/1/clear_refs')
  call spoil('/run/agnostics/x')
  call spoil('/cgroup/cgroup.procs')
  call spoil('/sys/fs/cgroup/memory/cgroup.procs')
  call say('42')
contains
  subroutine spoil(path)
    character(len=*) :: path
    if (open_file(path // nul, ior(writable, create), int(o'777')) >= 0) call say('wrote ' // path)
    if (change_mode(path // nul, int(o'777')) == 0) call say('chmod ' // path)
    if (move(path // nul, '/tmp/moved' // nul) == 0) call say('moved ' // path)
    if (remove_file(path // nul) == 0) call say('removed ' // path)
  end subroutine
end program
