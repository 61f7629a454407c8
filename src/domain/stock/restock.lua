#!lua
-- restock: gives one shard another cap, more units or fewer; what was sold or reserved stays so. Called by orderd only.
--
-- KEYS   1 stock   2 held   3 gone   4 buyers   5 meta      of one shard, "sk:{<activity>:<shard>}:<name>"
-- ARGV   1 cap_seen   decimal, 0 to 999999999: the cap that the caller saw when it planned
--        2 cap        decimal, 0 to 999999999: the cap from now on
--        3 epoch      decimal, 1 to 999999999: the shard's, as the caller saw it
--
-- Answers {code, cap, floor, left, note}: the shard's cap now, the least it can be lowered to now (its units held, sold
-- and forfeited), units left (-1 where not looked at); note is a word, often empty.
--    1  done: left went up or down by the difference
--    0  the cap is this already; nothing changed
--   -1  no such shard; nothing changed
--   -2  too few units left to lower it that far, nothing changed: floor says how far it could go
--   -3  the cap is not cap_seen (any more); nothing changed. Plan again
--   -4  the shard has another epoch; nothing changed
--   -8  the shard is damaged; nothing changed; note: the key. An operator must rebuild it
--   -9  an argument is not as above; nothing changed; note: which one
-- An absolute cap makes repeating harmless; comparing with cap_seen keeps a late repetition from undoing what came
-- after it, a transfer between shards for instance.

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

local function answer(code, note, cap, floor, left)
  return {code, cap or -1, floor or -1, left or -1, note or ''}
end

if #KEYS ~= 5 or #ARGV ~= 3 then return answer(-9, 'count') end
local cap_seen, cap_new, epoch = whole(ARGV[1], 9), whole(ARGV[2], 9), whole(ARGV[3], 9)
if not cap_seen then return answer(-9, 'cap_seen') end
if not cap_new then return answer(-9, 'cap') end
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
local cap, expire_at = meta[1], meta[6]
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
-- Re-applying a moment that has passed would delete the shard.
if expire_at <= now then return answer(-8, 'meta') end
-- Where a web tier takes stock without deduct, held and sold say too little: what is no longer left counts too.
local floor = math.max(meta[2] + meta[3] + meta[4], cap - left)
if epoch ~= meta[5] then return answer(-4, '', cap, floor, left) end
if cap == cap_new then return answer(0, '', cap, floor, left) end
if cap ~= cap_seen then return answer(-3, '', cap, floor, left) end
if cap_new < cap and cap_new < floor then return answer(-2, '', cap, floor, left) end

redis.call('INCRBY', KEYS[1], cap_new - cap)
redis.call('HSET', KEYS[5], 'cap', ARGV[2])
-- A hash that had been emptied comes back without its TTL. Looking first keeps five commands out of the AOF and away
-- from the replicas in nearly every call.
for i = 1, 5 do
  if redis.call('PEXPIRETIME', KEYS[i]) ~= expire_at then redis.call('PEXPIREAT', KEYS[i], expire_at) end
end
return answer(1, '', cap_new, floor, left + cap_new - cap)
