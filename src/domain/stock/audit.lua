#!lua flags=no-writes
-- audit: every number of one stock shard at one instant. Writes nothing and may run on a replica.
--
-- KEYS   1 stock   2 held   3 gone   4 buyers   5 meta      of one shard, "sk:{<activity>:<shard>}:<name>"
-- ARGV   none
--
-- Answers a list. Its first element is the code:
--    1  the shard is there, and each of its values is a number
--   -1  no such shard: none of the five keys is there
--   -8  keys or values are missing or are not numbers
--   -9  called with other keys or arguments; nothing follows
-- After the code, in this order, each as stored (text; empty where missing):
--    left, cap, held, sold, forfeited (units), epoch, limit, starts_at, ends_at, paused, expire_at
-- then as integers:
--    orders in held, orders in gone, marks in buyers, the TTL in ms of stock, held, gone, buyers and meta (-2: no such
--    key, -1: no TTL), the time of Redis in ms since 1970, and the units that left the shard by transfers less those that
--    came by them (cap + out never changes by a transfer).
-- In a shard that was only ever changed by these scripts, cap = left + held + sold + forfeited at every instant.

if #KEYS ~= 5 or #ARGV ~= 0 then return {-9} end

local meta = redis.call('HMGET', KEYS[5], 'cap', 'held', 'sold', 'forfeited', 'epoch', 'limit', 'starts_at', 'ends_at',
  'paused', 'expire_at')
local answer = {1, redis.call('GET', KEYS[1]) or ''}
for i = 1, 10 do answer[i + 2] = meta[i] or '' end
for i = 2, 12 do
  if #answer[i] > 16 or (answer[i] ~= '0' and not string.find(answer[i], '^%-?[1-9][0-9]*$')) then answer[1] = -8 end
end
if redis.call('EXISTS', unpack(KEYS)) == 0 then answer[1] = -1 end

answer[13] = redis.call('HLEN', KEYS[2])
answer[14] = redis.call('HLEN', KEYS[3])
answer[15] = redis.call('HLEN', KEYS[4])
for i = 1, 5 do answer[15 + i] = redis.call('PTTL', KEYS[i]) end
local time = redis.call('TIME')
answer[21] = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local out = redis.call('HGET', KEYS[5], 'out') or '0'
if #out > 16 or (out ~= '0' and not string.find(out, '^%-?[1-9][0-9]*$')) then answer[1] = -8 end
answer[22] = tonumber(out) or 0
return answer
