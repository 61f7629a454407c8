#!lua
-- extend: moves the window of the sale of one shard, and keeps its keys longer. Called by orderd only.
--
-- KEYS   1 stock   2 held   3 gone   4 buyers   5 meta      of one shard, "sk:{<activity>:<shard>}:<name>"
-- ARGV   1 ends_at     decimal, ms since 1970: first instant after the sale, later or earlier than it was; 0 leaves it
--        2 expire_at   decimal, ms since 1970, in the future and not before ends_at: when the keys vanish. Only ever
--                      later: an earlier one than the shard has is passed over
--        3 epoch       decimal, 1 to 999999999: the shard's, as the caller saw it
--        4 starts_at   decimal, ms since 1970: first instant of the sale, later or earlier than it was; 0 leaves it
--
-- Answers {code, ends_at, expire_at, starts_at, note}: as they are now, ms since 1970 (-1 where not looked at); note is
-- a word, often empty.
--    1  changed
--    0  all were so already (a TTL that differed was set right all the same)
--   -1  no such shard; nothing changed
--   -3  the sale would end before it starts; nothing changed. Pause it instead
--   -4  the shard has another epoch; nothing changed
--   -8  the shard is damaged; nothing changed; note: the key. An operator must rebuild it
--   -9  an argument is not as above; nothing changed; note: which one
-- The last call decides the window; the database knows which one that should be.

local function whole(text, digits)
  if #text <= digits and (text == '0' or string.find(text, '^[1-9][0-9]*$')) then
    return tonumber(text)
  end
  return nil
end

-- A stored number, as strict as the commands that will change it: an error half-way through the writes would keep the
-- first half.
local function stored(text)
  if text and #text <= 16 and (text == '0' or string.find(text, '^%-?[1-9][0-9]*$')) then
    return tonumber(text)
  end
  return nil
end

local function answer(code, note, ends_at, expire_at, starts_at)
  return {code, ends_at or -1, expire_at or -1, starts_at or -1, note or ''}
end

if #KEYS ~= 5 or #ARGV ~= 4 then return answer(-9, 'count') end
local ends_new, expire_new, epoch = whole(ARGV[1], 15), whole(ARGV[2], 15), whole(ARGV[3], 9)
local starts_new = whole(ARGV[4], 15)
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
if not ends_new then return answer(-9, 'ends_at') end
if not expire_new or expire_new < ends_new or expire_new <= now then return answer(-9, 'expire_at') end
if not epoch or epoch == 0 then return answer(-9, 'epoch') end
if not starts_new then return answer(-9, 'starts_at') end

local stock = redis.call('GET', KEYS[1])
if not stock then return answer(-1) end
if not stored(stock) then return answer(-8, 'stock') end
local meta = redis.call('HMGET', KEYS[5], 'starts_at', 'ends_at', 'expire_at', 'epoch')
for i = 1, 4 do
  meta[i] = stored(meta[i])
  if not meta[i] then return answer(-8, 'meta') end
end
local starts_at, ends_at, expire_at = meta[1], meta[2], meta[3]
-- The keys would be gone by then: somebody took their TTLs away, and pushing them out could bring back an old shard.
if expire_at <= now then return answer(-8, 'meta') end
if epoch ~= meta[4] then return answer(-4, '', ends_at, expire_at, starts_at) end
if starts_new == 0 then starts_new = starts_at end
if ends_new == 0 then ends_new = ends_at end
local moved = starts_new ~= starts_at or ends_new ~= ends_at
if moved and ends_new <= starts_new then return answer(-3, '', ends_at, expire_at, starts_at) end

local code = 0
if moved then
  if ends_new ~= ends_at then redis.call('HSET', KEYS[5], 'ends_at', ARGV[1]) end
  if starts_new ~= starts_at then redis.call('HSET', KEYS[5], 'starts_at', ARGV[4]) end
  ends_at, starts_at, code = ends_new, starts_new, 1
end
if expire_new > expire_at then
  redis.call('HSET', KEYS[5], 'expire_at', ARGV[2])
  expire_at, code = expire_new, 1
end
for i = 1, 5 do
  if redis.call('PEXPIRETIME', KEYS[i]) ~= expire_at then redis.call('PEXPIREAT', KEYS[i], expire_at) end
end
return answer(code, '', ends_at, expire_at, starts_at)
