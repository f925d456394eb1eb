for line in io.popen('env'):lines() do print(line:match('^[^=]+')) end
