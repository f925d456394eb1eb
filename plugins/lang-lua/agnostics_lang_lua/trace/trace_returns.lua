-- Which slots a function returns. LuaJIT calls the hook before a RET instruction and tells its line but not its place;
-- where a line has several of them, each gets a line number of its own that the function does not have. Only RET
-- instructions are changed, which raise no error, so no message ever shows such a number.

local byte, char, sub, dump, loadstring = string.byte, string.char, string.sub, string.dump, loadstring
local concat = table.concat
local band, rshift = bit.band, bit.rshift
local loaded_util = package.loaded["jit.util"]
local util = require("jit.util")
package.loaded["jit.util"] = loaded_util
local funcbc, funcinfo = util.funcbc, util.funcinfo

local returns = {}

local function last_operation(source)
  local func, last = loadstring(source), nil
  for pc = 1, 100 do
    local instruction = funcbc(func, pc)
    if not instruction then return band(last, 255) end
    last = instruction
  end
end

local RETM, RET = last_operation("return 1, ..."), last_operation("return 1, 2")
local RET0, RET1 = last_operation("local a = 1"), last_operation("return 1")
local CALLT, CALLMT = last_operation("return f(1)"), last_operation("return f(...)")

local function is_return(operation)
  return operation == RETM or operation == RET or operation == RET0 or operation == RET1
end

-- The places of the return instructions of a function by line, whether it has tail calls, and the slots
-- that a call of it takes on the stack at most.
function returns.scan(func)
  local by_line, has_tail = {}, false
  for pc = 1, funcinfo(func).bytecodes - 1 do
    local instruction = funcbc(func, pc)
    local operation = band(instruction, 255)
    has_tail = has_tail or operation == CALLT or operation == CALLMT
    if is_return(operation) then
      local line = funcinfo(func, pc).currentline
      local known = by_line[line]
      by_line[line] = known == nil and instruction or known == instruction and known or false
    end
  end
  return by_line, has_tail, funcinfo(func).stackslots + 2
end

-- The first slot that the instruction returns, counted from 1, and how many; no count where all up to the top are.
function returns.slots(instruction)
  local operation = band(instruction, 255)
  local first, count = band(rshift(instruction, 8), 255) + 1, rshift(instruction, 16) - 1
  if operation == RETM then return first end
  return first, operation == RET0 and 0 or operation == RET1 and 1 or count
end

local function reader(text)
  local at = 1
  local function take(count)
    at = at + count
    return at - count
  end
  local function number()
    local value, scale = 0, 1
    repeat
      local part = byte(text, take(1))
      value, scale = value + part % 128 * scale, scale * 128
    until part < 128
    return value
  end
  return take, number
end

-- Gives the return instructions of a function number `fake`, `fake + 1` … where several stand in a line.
local function mark_lines(text, bytes, code, count, lines, width, next_fake, most, real)
  local by_line = {}
  for i = 0, count - 1 do
    if is_return(byte(text, code + i * 4)) then
      local at = lines + i * width
      local line = byte(text, at) + (width > 1 and byte(text, at + 1) * 256 or 0)
      by_line[line] = by_line[line] or {}
      by_line[line][#by_line[line] + 1] = at
    end
  end
  for line, places in next, by_line do
    for i = 1, #places > 1 and #places or 0 do
      if next_fake > most then return next_fake end
      bytes[places[i]] = char(next_fake % 256)
      if width > 1 then bytes[places[i] + 1] = char((next_fake - next_fake % 256) / 256) end
      real[next_fake] = line
      next_fake = next_fake + 1
    end
  end
  return next_fake
end

-- The function `chunk` with its return instructions told apart, and a table FIRST LINE -> LAST LINE -> its own line
-- number -> the true one.
function returns.tell_apart(chunk)
  local text = dump(chunk)
  local bytes, places, next_fakes = {}, {}, {}
  local take, number = reader(text)
  take(4)
  if byte(text, 4) ~= 2 then return chunk, places end -- another format of LuaJIT's
  number()
  take(number())
  while true do
    local size = number()
    if size == 0 then break end
    local start = take(0)
    take(4)
    number()
    number()
    local count, debug_size, first, line_count = number(), number(), 0, 0
    if debug_size > 0 then first, line_count = number(), number() end
    local code = take(0)
    take(start + size - code)
    local width = line_count < 256 and 1 or line_count < 65536 and 2 or 4
    if debug_size > 0 and width < 4 then
      local last = first + line_count
      places[first] = places[first] or {}
      places[first][last] = places[first][last] or {}
      local key = first .. ":" .. last
      local real, lines = {}, start + size - debug_size
      local most = width == 1 and 255 or 65535
      local fake = next_fakes[key] or line_count + 1
      next_fakes[key] = mark_lines(text, bytes, code, count, lines, width, fake, most, real)
      for one, line in next, real do places[first][last][first + one] = first + line end
    end
  end
  return loadstring(returns.patched(text, bytes)), places
end

-- `text` with the characters of `bytes` in their places.
function returns.patched(text, bytes)
  local order, parts, from = {}, {}, 1
  for at in next, bytes do order[#order + 1] = at end
  table.sort(order)
  for i = 1, #order do
    parts[#parts + 1] = sub(text, from, order[i] - 1) .. bytes[order[i]]
    from = order[i] + 1
  end
  return concat(parts) .. sub(text, from)
end

return returns
