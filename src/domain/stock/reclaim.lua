#!lua
-- reclaim: forfeited units go back on sale, since the database has them after all. Called by orderd only.
--
-- KEYS   1 stock   2 held   3 gone   4 buyers   5 meta      of one shard, "sk:{<activity>:<shard>}:<name>"
-- ARGV   1 forfeited_seen   decimal, 1 to 999999999: the forfeited units of this shard when the caller did the sum
--        2 units            decimal, 1 to forfeited_seen
--        3 epoch            decimal, 1 to 999999999: the shard's, as the caller saw it
--
-- Answers {code, forfeited, left, note}: units now forfeited and left in this shard (-1 where not looked at); note is a
-- word, often empty.
--    1  reclaimed
--    0  the forfeited units are not forfeited_seen (any more): done before, or others were quicker; nothing changed. Do
--       the sum again
--   -1  no such shard; nothing changed
--   -4  the shard has another epoch; nothing changed
--   -8  the shard is damaged, or has more units than its cap (note: cap); nothing changed; note: the key. An operator
--       must rebuild it
--   -9  an argument is not as above; nothing changed; note: which one
-- Comparing first is what makes a repeated call harmless.

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

local function answer(code, note, forfeited, left)
  return {code, forfeited or -1, left or -1, note or ''}
end

if #KEYS ~= 5 or #ARGV ~= 3 then return answer(-9, 'count') end
local forfeited_seen, units, epoch = whole(ARGV[1], 9), whole(ARGV[2], 9), whole(ARGV[3], 9)
if not forfeited_seen or forfeited_seen == 0 then return answer(-9, 'forfeited_seen') end
if not units or units == 0 or units > forfeited_seen then return answer(-9, 'units') end
if not epoch or epoch == 0 then return answer(-9, 'epoch') end

local stock = redis.call('GET', KEYS[1])
if not stock then return answer(-1) end
local left = stored(stock)
if not left then return answer(-8, 'stock') end
local meta = redis.call('HMGET', KEYS[5], 'cap', 'held', 'sold', 'forfeited', 'epoch', 'expire_at')
for i = 1, 6 do
  meta[i] = stored(meta[i])
  if not meta[i] then return answer(-8, 'meta') end
end
local cap, held, sold, forfeited, expire_at = meta[1], meta[2], meta[3], meta[4], meta[6]
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
-- Re-applying a moment that has passed would delete the shard.
if expire_at <= now then return answer(-8, 'meta', forfeited, left) end
if epoch ~= meta[5] then return answer(-4, '', forfeited, left) end
if forfeited ~= forfeited_seen then return answer(0, '', forfeited, left) end
if left + held + sold + forfeited > cap then return answer(-8, 'cap', forfeited, left) end

redis.call('INCRBY', KEYS[1], units)
redis.call('HINCRBY', KEYS[5], 'forfeited', -units)
-- A hash that had been emptied comes back without its TTL. Looking first keeps five commands out of the AOF and away
-- from the replicas in nearly every call.
for i = 1, 5 do
  if redis.call('PEXPIRETIME', KEYS[i]) ~= expire_at then redis.call('PEXPIREAT', KEYS[i], expire_at) end
end
return answer(1, '', forfeited - units, left + units)
