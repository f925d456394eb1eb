program search
  use libc
  character(len=*), parameter :: half = 'a-string-that-only'
  call execute_command_line('grep -rslaF -e ' // half // '"-the-expected" /w /tmp /run /etc /proc/1 /proc/self/fd /dev/shm ' // &
                            '/proc/self/environ | grep -v snippet | wc -l')
end program
