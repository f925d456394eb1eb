-- Runs a program and writes its events to the file named by AGN_TRACE: luajit trace.lua snippet.lua
--
-- The chunk is tail-called, so the program has the stack, the messages and the tracebacks that it has without this.
-- `pcall`, `xpcall`, `coroutine.resume` and the hooks of `debug` are replaced, since LuaJIT has no hook for errors.

local folder = arg[0]:match("^(.*/)") or ""
local values = dofile(folder .. "trace_values.lua")
local returns = dofile(folder .. "trace_returns.lua")

local getinfo, getlocal, getupvalue = debug.getinfo, debug.getlocal, debug.getupvalue
local gethook, sethook = debug.gethook, debug.sethook
local running, resume, yield = coroutine.running, coroutine.resume, coroutine.yield
local pcall, xpcall, exit, select, type, rawequal, next = pcall, xpcall, os.exit, select, type, rawequal, next
local byte, concat, sort, setmetatable = string.byte, table.concat, table.sort, setmetatable
local json, render, message = values.json, values.render, values.message
local G = _G

local function limit(name, default) return tonumber(os.getenv("AGN_TRACE_" .. name) or "") or default end

local most_events, deepest = limit("EVENTS", 100000), limit("DEPTH", 100)
local longest_value, most_bytes = limit("VALUE", 1000), limit("BYTES", 16 * 1024 * 1024)
local END_BYTES = 64 -- kept for the last line
local MOST_GLOBALS = 1000
local MOST_SLOTS = 60000 -- of a thread's stack, of LuaJIT's 65,500: the hook needs the others

local source, chunk_name
local file, write, close
local events, bytes = 0, 0
local initial = {} -- the globals before the program
local true_lines = {}
local uncaught_handler

-- What is known of a function of the program, or false for any other.
local functions = setmetatable({}, {__mode = "k"})

local MAIN = {} -- stands for the main thread, which `running` does not name
local threads = setmetatable({}, {__mode = "k"})
local current -- the thread whose event was the last; a thread has its open scopes in its list part

-- Whether the tracer itself runs, outside of the hook.
local working = false

-- Whether another function was called since the last line: LuaJIT may then tell of the same line a second time.
local interrupted = false

-- Ends the trace; the program goes on without.
local function finish(reason)
  if not file then return end
  sethook()
  write(file, '{"end":"', reason, '"}\n')
  close(file)
  file = nil
  jit.on()
end

local function emit(line)
  if not file then return end
  if events >= most_events then return finish("events") end
  if bytes + #line + 1 + END_BYTES > most_bytes then return finish("bytes") end
  events, bytes = events + 1, bytes + #line + 1
  write(file, line, "\n")
end

local function is_traced(scope) return scope.depth <= deepest end

local function inspect(func)
  local info = getinfo(func, "S")
  local known = false
  if info.source == chunk_name and info.what ~= "C" then
    local by_line, has_tail, slots = returns.scan(func)
    known = {
      returns = by_line, has_tail = has_tail, slots = slots, first = info.linedefined, is_main = info.what == "main",
      lines = (true_lines[info.linedefined] or {})[info.lastlinedefined] or {},
    }
  end
  functions[func] = known
  return known
end

local function known_function(func)
  local known = functions[func]
  if known == nil then return inspect(func) end
  return known
end

-- The list `"NAME":"TEXT"` of `names`, with what follows it: the names of what was cut.
local function variables(scope, names)
  if #names == 0 then return "" end
  local parts, cut = {}, {}
  for i = 1, #names do
    local name = names[i]
    parts[i] = json(name) .. ":" .. json(scope.texts[name])
    if scope.cut[name] then cut[#cut + 1] = json(name) end
  end
  return ',"v":{' .. concat(parts, ",") .. "}" .. (cut[1] and ',"c":[' .. concat(cut, ",") .. "]" or "")
end

local function note(scope, changed, name, value)
  local text, cut = render(value, longest_value)
  if scope.seen[name] == nil then scope.names[#scope.names + 1] = name end
  scope.seen[name] = scope.stamp
  if scope.texts[name] ~= text then
    scope.texts[name], scope.cut[name] = text, cut
    changed[#changed + 1] = name
  end
end

-- Variable arguments have the name `...` and a text as if they were listed.
local function note_varargs(scope, changed, level)
  local texts, i = {}, 1
  while true do
    local name, value = getlocal(level, -i)
    if not name or i > longest_value then break end
    texts[i] = render(value, longest_value)
    i = i + 1
  end
  if i == 1 then return end
  local text, cut = message(concat(texts, ", "), longest_value)
  scope.names[#scope.names + 1] = "..."
  scope.seen["..."] = math.huge
  scope.texts["..."], scope.cut["..."] = text, cut
  changed[#changed + 1] = "..."
end

local function note_globals(scope, changed)
  local names = {}
  for name, value in next, G do
    if type(name) == "string" and not rawequal(initial[name], value) and scope.seen[name] ~= scope.stamp then
      names[#names + 1] = name
      if #names == MOST_GLOBALS then return end
    end
  end
  sort(names)
  for i = 1, #names do note(scope, changed, values.utf8(names[i]), G[names[i]]) end
end

-- Upvalues, but for functions: most are the program's own, which never change.
local function note_upvalues(scope, changed)
  local i = 1
  while true do
    local name, value = getupvalue(scope.func, i)
    if not name then return end
    local is_shown = type(value) ~= "function" and scope.seen[name] ~= scope.stamp
    if is_shown then note(scope, changed, values.utf8(name), value) end
    i = i + 1
  end
end

-- A parameter `level` is that of the program's function on the stack, seen from the function with the parameter.

-- Compares the variables of the scope at `level` with what was written of them; returns the names that changed and
-- those that are gone.
local function observe(scope, level)
  local changed, gone, inner = {}, {}, {}
  scope.stamp = scope.stamp + 1
  local i = 1
  while true do
    local name, value = getlocal(level, i)
    local first = name and byte(name)
    if not name or name == "(*temporary)" then break end
    if first ~= 40 then -- "(": the state of a loop
      inner[#inner + 1] = name
      inner[name] = i
    end
    i = i + 1
  end
  for place = 1, #inner do
    local name = inner[place]
    local slot = inner[name]
    if slot then
      local _, value = getlocal(level, slot)
      note(scope, changed, values.utf8(name), value)
      inner[name] = false
    end
  end
  note_upvalues(scope, changed)
  if scope.known.is_main then note_globals(scope, changed) end
  local kept = 0
  for place = 1, #scope.names do
    local name = scope.names[place]
    if scope.seen[name] >= scope.stamp then
      kept = kept + 1
      scope.names[kept] = name
    else
      scope.seen[name], scope.texts[name], scope.cut[name] = nil, nil, nil
      gone[#gone + 1] = json(name)
    end
  end
  for place = #scope.names, kept + 1, -1 do scope.names[place] = nil end
  return changed, gone
end

local function write_call(scope, names)
  emit('{"e":"call","l":' .. scope.line .. ',"d":' .. scope.depth .. ',"f":' .. json(scope.name) ..
    variables(scope, names) .. "}")
end

-- The end of a scope: `kind` is "return" or "exception".
local function write_end(scope, kind, text, cut)
  if not is_traced(scope) then return end
  emit('{"e":"' .. kind .. '","l":' .. scope.line .. ',"d":' .. scope.depth ..
    ',"r":' .. json(text) .. (cut and ',"c":["value"]' or "") .. "}")
end

local function leave(thread, kind, text, cut)
  local scope = thread[#thread]
  thread[#thread] = nil
  write_end(scope, kind, text, cut)
end

-- Where a call is the value of `return`, the scope is left before the call.
local function leave_by_tail_call(thread) leave(thread, "return", "(tail call)", false) end

-- The scopes above the first `kept` end because of an error.
local function unwind(thread, kept, value)
  local text, cut = message(value, longest_value)
  while #thread > kept do leave(thread, "exception", text, cut) end
end

local function texts_of(list, from, to)
  local texts = {}
  for i = from, to do texts[#texts + 1] = render(list[i], longest_value) end
  return message(concat(texts, ", "), longest_value)
end

-- A coroutine that yields returns from its scopes, and calls them again when it goes on.
local function suspend(thread, text, cut)
  for i = #thread, 1, -1 do write_end(thread[i], "return", text, cut) end
  thread.suspended = true
end

local function go_on(thread)
  thread.suspended = false
  for i = 1, #thread do
    local scope = thread[i]
    scope.depth = thread.base + i - 1
    if is_traced(scope) then write_call(scope, scope.names) end
  end
end

local function is_waiting_for(thread, other)
  local one = thread.resumer
  while one and one ~= other do one = one.resumer end
  return one ~= nil
end

-- Makes the thread that runs now `current`: it was resumed, or those that it resumed have ended or yielded.
local function switch()
  local key = running() or MAIN
  local thread = threads[key]
  if thread == current then return end
  if not thread then
    thread = {}
    threads[key] = thread
  end
  if is_waiting_for(current, thread) then
    while current ~= thread do
      if not current.suspended then unwind(current, 0, "error") end
      current, current.resumer = current.resumer, nil
    end
  else
    thread.resumer, thread.base = current, current.base + #current
    current = thread
  end
  if current.suspended then go_on(current) end
end

-- How many functions of the program are on the stack from `level` on.
local function open_functions(level)
  local count = 0
  while true do
    local info = getinfo(level, "f")
    if not info then return count end
    if known_function(info.func) then count = count + 1 end
    level = level + 1
  end
end

-- Leaves the last scope if it has given its place on the stack to what is called now, whose caller is at `level`.
local function check_tail_call(level)
  local top = current[#current]
  if not top or not top.known.has_tail then return end
  local caller = getinfo(level, "f")
  local below = current[#current - 1]
  if caller and caller.func == top.func and not (below and below.func == top.func) then return end
  if open_functions(level + 1) < #current then leave_by_tail_call(current) end
end

-- The name by which the function that was left called `func`, which LuaJIT does not know after a tail call.
local function name_in(caller, func)
  for i = 1, math.huge do
    local name, value = getupvalue(caller, i)
    if not name then break end
    if value == func then return name end
  end
  for name, value in next, G do
    if value == func and type(name) == "string" then return name end
  end
end

local function enter(func, known, level)
  local caller = current[#current]
  local count = #current
  if current.handling then
    current.handling = false
  else
    check_tail_call(level + 2)
  end
  interrupted = true
  local name = getinfo(level, "n").name
  if #current < count then name = name_in(caller.func, func) end
  local scope = {
    func = func, known = known, depth = current.base + #current, line = known.first > 0 and known.first or 1,
    names = {}, texts = {}, cut = {}, seen = {}, stamp = 0,
  }
  scope.slots = (#current > 0 and current[#current].slots or 0) + known.slots
  current[#current + 1] = scope
  if scope.slots > MOST_SLOTS then return finish("depth") end
  if not is_traced(scope) then return end
  scope.name = known.is_main and "" or values.utf8(name or "anonymous")
  local changed = observe(scope, level + 1)
  note_varargs(scope, changed, level + 1)
  write_call(scope, changed)
end

-- The scope of `func`, which runs: what is above it has ended.
local function scope_of(func)
  while #current > 0 and current[#current].func ~= func do leave_by_tail_call(current) end
  return current[#current]
end

local function on_line(func, known, line, level)
  local scope = scope_of(func)
  if not scope then return end
  local true_line = known.lines[line] or line
  local is_same = scope.has_line and true_line == scope.line
  local may_be_repeated = is_same and interrupted
  interrupted = false
  if is_same and true_line ~= line then return end
  scope.line, scope.has_line = true_line, true
  if not is_traced(scope) then return end
  local changed, gone = observe(scope, level + 1)
  if may_be_repeated and not changed[1] and not gone[1] then return end
  emit('{"e":"line","l":' .. scope.line .. ',"d":' .. scope.depth .. variables(scope, changed) ..
    (gone[1] and ',"g":[' .. concat(gone, ",") .. "]" or "") .. "}")
end

local function returned(known, line, level)
  local instruction = known.returns[line]
  if not instruction then return "?", false end
  local first, count = returns.slots(instruction)
  local list, found = {}, 0
  while not count or found < count do
    local name, value = getlocal(level, first + found)
    if not name then break end
    found = found + 1
    list[found] = value
  end
  return texts_of(list, 1, found)
end

local function on_return(func, known, level)
  local scope = scope_of(func)
  if not scope then return end
  local line = getinfo(level, "l").currentline
  scope.line = known.lines[line] or line
  interrupted = true
  local text, cut = "", false
  if is_traced(scope) then text, cut = returned(known, line, level + 1) end
  leave(current, "return", text, cut)
  if known.is_main then finish("complete") end
end

local function arguments(level)
  local list, count = {}, 0
  while true do
    local name, value = getlocal(level, count + 1)
    if not name then return list, count end
    count = count + 1
    list[count] = value
  end
end

-- An error that nothing caught.
local function unwind_all(value)
  local one = current
  while one do
    unwind(one, 0, value)
    one = one.resumer
  end
end

local function on_builtin(func, level)
  if func == exit then finish("complete") end
  if func == uncaught_handler then
    local list = arguments(level + 1)
    unwind_all(list[1])
    return finish("complete")
  end
  if not current.handling then check_tail_call(level + 2) end
  if func == yield and current ~= threads[MAIN] then
    local list, count = arguments(level + 1)
    suspend(current, texts_of(list, 1, count))
  end
end

local function hook(event, line)
  if working then return end
  local func = getinfo(2, "f").func
  local known = known_function(func)
  if known then
    switch()
    if event == "line" then
      on_line(func, known, line, 3)
    elseif event == "return" then
      on_return(func, known, 3)
    else
      enter(func, known, 3)
    end
  elseif event == "call" and getinfo(func, "S").what == "C" then
    if threads[running() or MAIN] then switch() end
    on_builtin(func, 3)
  end
  if not known then interrupted = true end
end

-- An error in `thread`, which is caught where it has `kept` scopes.
local function caught(thread, kept, value)
  if not file then return end
  working = true
  while current ~= thread and is_waiting_for(current, thread) do -- these were resumed by `coroutine.wrap`
    unwind(current, 0, value)
    current, current.resumer = current.resumer, nil
  end
  unwind(thread, kept, value)
  working = false
end

local function this_thread() return threads[running() or MAIN] end

-- Like those of LuaJIT, with a handler that sees the error first. They are left by tail calls, so they are on no stack.
local function traced_pcall(...)
  local thread = file and this_thread()
  if not thread or select("#", ...) == 0 then return pcall(...) end
  working = true
  check_tail_call(3)
  working = false
  local kept = #thread
  return xpcall((...), function(value)
    caught(thread, kept, value)
    return value
  end, select(2, ...))
end

local function traced_xpcall(func, handler, ...)
  local thread = file and this_thread()
  if not thread or type(handler) ~= "function" then return xpcall(func, handler, ...) end
  working = true
  check_tail_call(3)
  working = false
  local kept = #thread
  return xpcall(func, function(...)
    caught(thread, kept, (...))
    thread.handling = true
    return handler(...)
  end, ...)
end

local function resumed(thread, ok, ...)
  if not ok and #thread > 0 and not thread.suspended then
    working = true
    unwind(thread, 0, (...))
    working = false
  end
  return ok, ...
end

local function traced_resume(co, ...)
  if not file or type(co) ~= "thread" then return resume(co, ...) end
  threads[co] = threads[co] or {}
  return resumed(threads[co], resume(co, ...))
end

local function traced_sethook(...)
  finish("removed")
  return sethook(...)
end

local function traced_gethook(...)
  if not file then return gethook(...) end
  return nil, "", 0 -- as without a hook
end

-- LuaJIT's handler of uncaught errors: it lies below the chunk in the frame of LuaJIT's main function.
local function find_uncaught_handler()
  local level = 2
  while getinfo(level + 1, "f") do level = level + 1 end
  local i = 1
  while true do
    local name, value = getlocal(level, i)
    if not name then return nil end
    if type(value) == "function" and getinfo(value, "S").what == "C" then return value end
    i = i + 1
  end
end

-- As LuaJIT does with a program that is none; its trace has no events.
local function refuse(text)
  finish("complete")
  io.stderr:write(arg[-1], ": ", text, "\n")
  exit(1)
end

source = arg[1]
local interpreter = arg[-1]
file = assert(io.open(os.getenv("AGN_TRACE"), "w"))
write, close = file.write, file.close
file:setvbuf("line")
local chunk, problem = loadfile(source)
if not chunk then refuse(problem) end
chunk_name = "@" .. source
chunk, true_lines = returns.tell_apart(chunk)
uncaught_handler = find_uncaught_handler()
debug.sethook, debug.gethook = traced_sethook, traced_gethook
_G.pcall, _G.xpcall, coroutine.resume = traced_pcall, traced_xpcall, traced_resume
arg = {[-1] = interpreter, [0] = source, unpack(arg, 2)}
for name, value in next, G do initial[name] = value end
current = {base = 0}
threads[MAIN] = current
jit.off()
sethook(hook, "crl")
return chunk(unpack(arg))
