#!lua
-- pause: stops the sale of one shard, or lets it go on. Called by orderd only.
--
-- KEYS   1 stock   2 held   3 gone   4 buyers   5 meta      of one shard, "sk:{<activity>:<shard>}:<name>"
-- ARGV   1 paused   1: deduct takes nothing more; 0: it does again
--        2 epoch    decimal, 1 to 999999999: to let it go on, the shard's; to stop it, the shard's or a later one
--
-- Answers {code, note}; note is a word, often empty.
--    1  changed
--    0  it was so already
--   -1  no such shard; nothing changed
--   -4  the shard has another epoch; nothing changed
--   -8  the shard is damaged; nothing changed; note: the key. An operator must rebuild it
--   -9  an argument is not as above; nothing changed; note: which one
-- A shard that answers -1 or -8 here sells nothing anyway: deduct needs all that is needed here. One that a failover
-- threw back to an older epoch can be stopped with the epoch that the database has, and must be, before it is rebuilt.
-- Everything else goes on while it is paused: settle, return, adopt.

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

local function answer(code, note)
  return {code, note or ''}
end

if #KEYS ~= 5 or #ARGV ~= 2 then return answer(-9, 'count') end
local paused, epoch = ARGV[1], whole(ARGV[2], 9)
if paused ~= '0' and paused ~= '1' then return answer(-9, 'paused') end
if not epoch or epoch == 0 then return answer(-9, 'epoch') end

local stock = redis.call('GET', KEYS[1])
if not stock then return answer(-1) end
if not stored(stock) then return answer(-8, 'stock') end
local meta = redis.call('HMGET', KEYS[5], 'paused', 'epoch', 'expire_at')
for i = 1, 3 do
  if not stored(meta[i]) then return answer(-8, 'meta') end
end
local expire_at = tonumber(meta[3])
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
-- Re-applying a moment that has passed would delete the shard.
if expire_at <= now then return answer(-8, 'meta') end
local shard_epoch = tonumber(meta[2])
if shard_epoch > epoch or (shard_epoch < epoch and paused == '0') then return answer(-4) end
if meta[1] == paused then return answer(0) end

redis.call('HSET', KEYS[5], 'paused', paused)
-- A hash that had been emptied comes back without its TTL. Looking first keeps five commands out of the AOF and away
-- from the replicas in nearly every call.
for i = 1, 5 do
  if redis.call('PEXPIRETIME', KEYS[i]) ~= expire_at then redis.call('PEXPIREAT', KEYS[i], expire_at) end
end
return answer(1)
