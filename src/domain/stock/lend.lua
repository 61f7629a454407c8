#!lua
-- lend: the first half of a transfer between two shards: units leave this one, together with as much of its cap. Called
-- by orderd only, which has written the transfer down before (table stock_transfer, whose id it is).
--
-- KEYS   1 stock   2 held   3 gone   4 buyers   5 meta      of one shard, "sk:{<activity>:<shard>}:<name>"
-- ARGV   1 transfer   decimal, 1 to 20 digits: the transfer's id, never used for another one
--        2 units      decimal, 1 to 999999999
--        3 epoch      decimal, 1 to 999999999: the shard's, as the caller saw it
--        4 come       1: borrow has answered 2 for this transfer, its units are on sale at the other shard: a failover
--                     made this one forget that it lent them. They leave even where too few are left, and left goes
--                     below 0: what was sold of them meanwhile is owed. 0: not known
--
-- Answers {code, units, left, note}: units of this transfer that have left the shard (-1 where not looked at), units left
-- (-1 likewise); note is a word, often empty.
--    1  done: left and cap went down by the units
--    2  it was done before; nothing changed
--    0  too few units left. The id is remembered: this transfer lends nothing, unless its units turn out to have come
--   -1  no such shard; nothing changed
--   -4  the shard has another epoch; nothing changed: what it lent before went with the epoch
--   -8  the shard is damaged; nothing changed; note: the key. An operator must rebuild it
--   -9  an argument is not as above; nothing changed; note: which one
-- Ids are kept as fields "out:<id>" of meta for as long as the shard lives, so that a repetition, however late, moves
-- nothing twice. meta.out is what left by transfers less what came by them: cap + out never changes by a transfer.

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

local function answer(code, note, units, left)
  return {code, units or -1, left or -1, note or ''}
end

if #KEYS ~= 5 or #ARGV ~= 4 then return answer(-9, 'count') end
local id, units, epoch = ARGV[1], whole(ARGV[2], 9), whole(ARGV[3], 9)
if #id > 20 or not string.find(id, '^[1-9][0-9]*$') then return answer(-9, 'transfer') end
if not units or units == 0 then return answer(-9, 'units') end
if not epoch or epoch == 0 then return answer(-9, 'epoch') end
if ARGV[4] ~= '0' and ARGV[4] ~= '1' then return answer(-9, 'come') end
local come = ARGV[4] == '1'

local stock = redis.call('GET', KEYS[1])
if not stock then return answer(-1) end
local left = stored(stock)
if not left then return answer(-8, 'stock') end
local meta = redis.call('HMGET', KEYS[5], 'cap', 'epoch', 'expire_at', 'out', 'out:' .. id)
for i = 1, 3 do
  meta[i] = stored(meta[i])
  if not meta[i] then return answer(-8, 'meta') end
end
local expire_at, before = meta[3], stored(meta[5])
if meta[4] and not stored(meta[4]) or meta[5] and not before then return answer(-8, 'meta') end
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
-- Re-applying a moment that has passed would delete the shard.
if expire_at <= now then return answer(-8, 'meta') end
if epoch ~= meta[2] then return answer(-4, '', -1, left) end
if before and before > 0 then return answer(2, '', before, left) end
if before and not come then return answer(0, '', 0, left) end
if left < units and not come then
  redis.call('HSET', KEYS[5], 'out:' .. id, 0)
  return answer(0, '', 0, left)
end

redis.call('DECRBY', KEYS[1], units)
redis.call('HINCRBY', KEYS[5], 'cap', -units)
redis.call('HINCRBY', KEYS[5], 'out', units)
redis.call('HSET', KEYS[5], 'out:' .. id, units)
-- A hash that had been emptied comes back without its TTL. Looking first keeps five commands out of the AOF and away
-- from the replicas in nearly every call.
for i = 1, 5 do
  if redis.call('PEXPIRETIME', KEYS[i]) ~= expire_at then redis.call('PEXPIREAT', KEYS[i], expire_at) end
end
return answer(1, '', units, left - units)
