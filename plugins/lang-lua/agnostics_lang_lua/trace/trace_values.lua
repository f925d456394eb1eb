-- The text of a value, written without running anything of the program: no metamethod, no `tostring` of a table.
-- Addresses never appear, and the order of a table's keys is that of their texts, so that two runs write the same.

local byte, find, format, gsub, sub = string.byte, string.find, string.format, string.gsub, string.sub
local concat, sort, floor = table.concat, table.sort, math.floor
local next, rawget, type, tostring, getinfo = next, rawget, type, tostring, debug.getinfo

local MOST_KEYS = 1000 -- of a table beside its list; a larger one would cost too much at each event
local DEEPEST = 40

local loaded_ffi = package.loaded.ffi
local ffi = require("ffi")
package.loaded.ffi = loaded_ffi

local values = {}

local function continuation(text, from, count)
  for i = from, from + count - 1 do
    local next_byte = byte(text, i)
    if not next_byte or next_byte < 128 or next_byte > 191 then return false end
  end
  return true
end

-- The code point at `i` and how many bytes it takes, or nothing where the bytes are no UTF-8.
local function code_point(text, i)
  local first, second = byte(text, i, i + 1)
  if first >= 0xC2 and first <= 0xDF and continuation(text, i + 1, 1) then
    return (first - 0xC0) * 64 + second - 128, 2
  elseif first >= 0xE0 and first <= 0xEF and continuation(text, i + 1, 2) then
    local code = ((first - 0xE0) * 64 + second - 128) * 64 + byte(text, i + 2) - 128
    if code >= 0x800 and (code < 0xD800 or code > 0xDFFF) then return code, 3 end
  elseif first >= 0xF0 and first <= 0xF4 and continuation(text, i + 1, 3) then
    local code = (((first - 0xF0) * 64 + second - 128) * 64 + byte(text, i + 2) - 128) * 64 + byte(text, i + 3) - 128
    if code >= 0x10000 and code <= 0x10FFFF then return code, 4 end
  end
end

local function each_code_point(bytes, valid, invalid)
  local parts, i = {}, 1
  while i <= #bytes do
    local code, size = code_point(bytes, i)
    parts[#parts + 1] = code and valid(code, sub(bytes, i, i + size - 1)) or invalid(byte(bytes, i))
    i = i + (size or 1)
  end
  return concat(parts)
end

local function same(_, bytes) return bytes end

local function decimal(value) return format("\\%03d", value) end

-- Bytes that are no UTF-8 as `\ddd`, which is how Lua writes them.
local function as_utf8(bytes) return each_code_point(bytes, same, decimal) end

function values.utf8(text) return (gsub(text, "[\128-\255]+", as_utf8)) end

local escapes = {["\n"] = "\\n", ["\r"] = "\\r", ["\t"] = "\\t", ['"'] = '\\"', ["\\"] = "\\\\"}

local function escape(character) return escapes[character] or decimal(byte(character)) end

-- A string as it stands in a program; of a long one only what may be shown.
local function quoted(text, room)
  local shown = gsub(sub(text, 1, room * 4 + 4), '[%c"\\]', escape)
  return '"' .. gsub(shown, "[\128-\255]+", as_utf8) .. (#text > room * 4 + 4 and "" or '"')
end

local function number(value)
  if value ~= value then return "nan" end
  return format("%.14g", value)
end

local function func(value)
  local info = getinfo(value, "S")
  if info.what == "C" then return "function: builtin" end
  return format("function: %s:%d", values.utf8(info.short_src), info.linedefined)
end

local function scalar(value, kind, room)
  if kind == "string" then return quoted(value, room) end
  if kind == "number" then return number(value) end
  if kind == "function" then return func(value) end
  if kind == "boolean" or kind == "nil" then return value == nil and "nil" or value and "true" or "false" end
  if kind == "cdata" and (ffi.istype("int64_t", value) or ffi.istype("uint64_t", value)) then return tostring(value) end
  return kind
end

local function is_name(text) return find(text, "^[%a_][%w_]*$") ~= nil end

local write_value

-- The keys beside the list of `count` values in the order of their texts, or nothing if they are too many.
local function other_keys(tab, count, room)
  local keys, texts = {}, {}
  for key in next, tab do
    local kind = type(key)
    if not (kind == "number" and key >= 1 and key <= count and key == floor(key)) then
      if #keys == MOST_KEYS then return nil end
      keys[#keys + 1] = key
      local text = kind == "table" and "table" or scalar(key, kind, room)
      texts[key] = kind == "string" and is_name(key) and key or "[" .. text .. "]"
    end
  end
  sort(keys, function(a, b)
    local numbers = type(a) == "number" and type(b) == "number"
    if numbers then return a < b end
    if type(a) == "number" or type(b) == "number" then return type(a) == "number" end
    return texts[a] < texts[b]
  end)
  return keys, texts
end

local function put(out, text)
  if out.stopped then return end
  out[#out + 1] = text
  out.left = out.left - #text
end

-- Writes no more: the text is cut here.
local function stop(out)
  out.stopped = true
  out.left = 0
end

local function write_table(out, tab, open, depth)
  if open[tab] then return put(out, "<cycle>") end
  if depth > DEEPEST then return stop(out) end
  open[tab] = true
  put(out, "{")
  local count, separator = 0, ""
  while rawget(tab, count + 1) ~= nil and out.left > 0 do
    count = count + 1
    put(out, separator)
    write_value(out, rawget(tab, count), open, depth + 1)
    separator = ", "
  end
  if out.left > 0 then
    local keys, texts = other_keys(tab, count, out.left)
    for i = 1, keys and #keys or 0 do
      if out.left <= 0 then break end
      put(out, separator .. texts[keys[i]] .. "=")
      write_value(out, rawget(tab, keys[i]), open, depth + 1)
      separator = ", "
    end
    if not keys then stop(out) end
  end
  if not out.stopped then put(out, "}") end
  open[tab] = nil
end

function write_value(out, value, open, depth)
  local kind = type(value)
  if kind == "table" then return write_table(out, value, open, depth) end
  put(out, scalar(value, kind, out.left > 0 and out.left or 1))
end

-- The first characters of `text` and a mark, if it has more than `limit`, and whether it has.
local function cut(text, limit)
  if #text <= limit then return text, false end
  local seen = 0
  for i = 1, #text do
    local value = byte(text, i)
    if value < 128 or value > 191 then
      seen = seen + 1
      if seen > limit then return sub(text, 1, i - 1) .. "…", true end
    end
  end
  return text, false
end

-- The first `limit` characters of the text of a value, and whether something of it is missing.
function values.render(value, limit)
  local kind = type(value)
  if kind ~= "table" then return cut(scalar(value, kind, limit), limit) end
  local out = {left = limit * 4}
  write_table(out, value, {}, 1)
  local text, was_cut = cut(concat(out), limit)
  if out.stopped and not was_cut then return text .. "…", true end
  return text, was_cut
end

-- The text of an error: a message as it is.
function values.message(value, limit)
  if type(value) ~= "string" then return values.render(value, limit) end
  return cut(gsub(sub(value, 1, limit * 4 + 4), "[\128-\255]+", as_utf8), limit)
end

local function unicode_escape(code)
  if code < 0x10000 then return format("\\u%04x", code) end
  return format("\\u%04x\\u%04x", 0xD7C0 + floor(code / 1024), 0xDC00 + code % 1024)
end

local function code_escape(code) return unicode_escape(code) end

local function all_escaped(bytes) return each_code_point(bytes, code_escape, code_escape) end

local function ascii_escape(character)
  if character == '"' or character == "\\" then return "\\" .. character end
  return format("\\u%04x", byte(character))
end

-- A text as a JSON string in ASCII.
function values.json(text)
  if find(text, '[%c"\\\128-\255]') then
    text = gsub(gsub(text, '[%c"\\]', ascii_escape), "[\128-\255]+", all_escaped)
  end
  return '"' .. text .. '"'
end

return values
