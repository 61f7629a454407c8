#!lua
-- remove: takes one shard of a settled activity out of Redis. Called by orderd only.
--
-- KEYS   1 stock   2 held   3 gone   4 buyers   5 meta      of one shard, "sk:{<activity>:<shard>}:<name>"
-- ARGV   1 epoch   decimal, 1 to 999999999: the shard's, as the caller saw it
--
-- Answers {code, held, note}: orders in the ledger (0 where not looked at); note is a word, often empty.
--    1  removed
--    0  nothing was there
--   -2  there are orders or units in the ledger; nothing changed. The activity is not settled
--   -3  on sale: neither over nor paused; nothing changed
--   -4  the shard has another epoch; nothing changed
--   -8  the shard is damaged; nothing changed; note: the key. An operator must rebuild it
--   -9  an argument is not as above; nothing changed; note: which one
-- A large hash that expires is freed at once where the server is not set to do that lazily, and everyone waits
-- meanwhile; UNLINK leaves it to another thread. That is why a settled shard is removed before its time.

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

local function answer(code, note, held)
  return {code, held or 0, note or ''}
end

if #KEYS ~= 5 or #ARGV ~= 1 then return answer(-9, 'count') end
local epoch = whole(ARGV[1], 9)
if not epoch or epoch == 0 then return answer(-9, 'epoch') end

if redis.call('EXISTS', unpack(KEYS)) == 0 then return answer(0) end
local meta = redis.call('HMGET', KEYS[5], 'epoch', 'held', 'ends_at', 'paused')
for i = 1, 4 do
  meta[i] = stored(meta[i])
  if not meta[i] then return answer(-8, 'meta') end
end
if epoch ~= meta[1] then return answer(-4) end
local held = redis.call('HLEN', KEYS[2])
if held > 0 or meta[2] ~= 0 then return answer(-2, '', held) end
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
if meta[4] == 0 and meta[3] > now then return answer(-3) end

redis.call('UNLINK', unpack(KEYS))
return answer(1)
