-- Prints as much as it may, fills the RAM disks until the slot's control group has little left, and ends well: the
-- harness has to clean up with what is left. Where it cannot see that account it takes all that it can.
local folders = { '/sys/fs/cgroup/memory', '/sys/fs/cgroup', '/cgroup' }
local function text(name)
  for _, folder in ipairs(folders) do
    local file = io.open(folder .. '/memory.' .. name)
    if file then
      local all = file:read('*a')
      file:close()
      return all
    end
  end
end
local function left()
  local stat, cached = text('stat'), 0
  if not stat then return math.huge end
  for _, name in ipairs { 'inactive_file', 'active_file' } do
    cached = cached + tonumber(stat:match('\n' .. name .. ' (%d+)') or 0)
  end
  local limit = text('limit_in_bytes') or text('max')
  local used = text('usage_in_bytes') or text('current')
  return tonumber(limit) - tonumber(used) + cached
end
io.write(('x'):rep(4900000))
io.flush()
local block, page = ('x'):rep(262144), ('x'):rep(4096)
local number, done, file = 0, math.huge, nil
while number < 300 do
  local room = left() - 300 * 1024
  if room < 4096 then break end
  if done > 4000000 then
    if file then file:close() end
    file, done, number = io.open((number % 2 == 0 and '/w' or '/tmp') .. '/file' .. number, 'w'), 0, number + 1
    file:setvbuf('no')
  end
  local piece = room > 524288 and block or page
  if file:write(piece) then done = done + #piece else done = math.huge end
end
