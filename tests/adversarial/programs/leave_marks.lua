if io.open('/w/mark') or io.open('/tmp/mark') then print('left over') end
io.open('/w/mark', 'w'):write('x')
io.open('/tmp/mark', 'w'):write('x')
print(42)
