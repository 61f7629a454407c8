#!lua
-- settle: an order was paid for good in the database: its units go from reserved to sold, once. Called by orderd only.
--
-- KEYS   1 stock   2 held   3 gone   4 buyers   5 meta      of one shard, "sk:{<activity>:<shard>}:<name>"
-- ARGV   1 order_no   as for deduct
--
-- Answers {code, units, note}: units that were moved (0 unless 1); note is a word, often empty.
--    1  settled: it left the ledger and is sold
--    0  settled before; note: sold
--   -1  no such shard; nothing changed: wait, or leave it where the activity is settled
--   -2  no such reservation; nothing changed: where the database has the order, the walk adopts it as paid
--   -3  the order is done with in another way, nothing changed; note: returned, forfeited or refused. Raise an alarm:
--       its units are on sale again, or it never had any
--   -8  the shard is damaged; nothing changed; note: the key. An operator must rebuild it
--   -9  an argument is not as above; nothing changed; note: which one
-- The buyer's mark stays, so that what was paid for goes on counting against the limit. An order in the ledger is
-- settled whatever its epoch. Repeat after a lost answer.

-- A stored number, as strict as the commands that will change it: an error half-way through the writes would keep the
-- first half.
local function stored(text)
  if text and #text <= 16 and (text == '0' or string.find(text, '^%-?[1-9][0-9]*$')) then
    return tonumber(text)
  end
  return nil
end

local function is_order_no(text)
  local base = string.match(text, '^(.+)%-r[1-9][0-9]?[0-9]?[0-9]?$') or text
  return #base <= 28 and string.find(base, '^[0-9A-Za-z_]+$') ~= nil
end

local function answer(code, note)
  return {code, 0, note or ''}
end

if #KEYS ~= 5 or #ARGV ~= 1 then return answer(-9, 'count') end
local order_no = ARGV[1]
if not is_order_no(order_no) then return answer(-9, 'order_no') end

local held = redis.call('HGET', KEYS[2], order_no)
local gone = redis.call('HGET', KEYS[3], order_no)
if gone and not held then return answer(gone == 'sold' and 0 or -3, gone) end

local stock = redis.call('GET', KEYS[1])
if not stock then return answer(-1) end
if not held then return answer(-2) end
local units = stored(string.match(held, '^[0-9]+|[0-9]+|([0-9]+)|[0-9]+|[0-9]+|[0-9]+$'))
if not units then return answer(-8, 'held') end
if not stored(stock) then return answer(-8, 'stock') end
local meta = redis.call('HMGET', KEYS[5], 'held', 'sold', 'expire_at')
for i = 1, 3 do
  meta[i] = stored(meta[i])
  if not meta[i] then return answer(-8, 'meta') end
end
if meta[1] < units then return answer(-8, 'meta') end

-- Re-applying a moment that has passed would delete the shard.
local time = redis.call('TIME')
local expire_at = meta[3]
if expire_at <= tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000) then return answer(-8, 'meta') end

redis.call('HDEL', KEYS[2], order_no)
redis.call('HINCRBY', KEYS[5], 'held', -units)
redis.call('HINCRBY', KEYS[5], 'sold', units)
redis.call('HSET', KEYS[3], order_no, 'sold')
-- A hash that had been emptied comes back without its TTL. Looking first keeps five commands out of the AOF and away
-- from the replicas in nearly every call.
for i = 1, 5 do
  if redis.call('PEXPIRETIME', KEYS[i]) ~= expire_at then redis.call('PEXPIREAT', KEYS[i], expire_at) end
end
return {1, units, ''}
