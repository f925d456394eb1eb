program tables
  use libc
  do while (inotify_init1(0) >= 0)
  end do
  do while (eventfd(0, 0) >= 0 .and. epoll_create1(0) >= 0)
  end do
  call say('42')
end program
