program unread
  print '(a)', '42'
end program
