local notes = io.open('notes', 'w')
notes:write('42')
notes:close()
print(io.open('notes'):read('*a'))
