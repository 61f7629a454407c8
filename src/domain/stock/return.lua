#!lua
-- return: gives an order's units back to one stock shard, once. Called by orderd only, after the order was closed or
-- rejected for good in the database; web tiers never call it.
--
-- KEYS   1 stock   2 held   3 gone   4 buyers   5 meta      of one shard, "sk:{<activity>:<shard>}:<name>"
-- ARGV   1 order_no          as for deduct
--        2 units_back        decimal, 0 to 999999999; counts only where the order holds no reservation and ARGV 6 is 0
--        3 units_forfeited   decimal, 0 to 999999999: units that do not come back, since the database never had them
--        4 epoch             decimal, 1 to 999999999: the order's
--        5 free_mark         1: free the buyer's mark, so that the buyer may buy again; 0: keep it
--        6 reservations      1: only what the ledger holds can come back
--                            0: for a web tier that takes stock without deduct: what is not in the ledger comes back by
--                               the caller's word, once by order number
--
-- Answers {code, back, forfeited, dropped, left, note}: units put back into stock, units counted as forfeited, units
-- the cap cut off, units now left in this shard (-1 where not looked at); note is a word, often empty.
--    1  given back
--    2  given back, but the cap cut units off: the shard would have held more than it may. Raise an alarm
--    0  nothing to do; note: returned, forfeited, refused or sold (what had become of it before), or old_epoch (the
--       shard was rebuilt since, without this order's units; the number is then marked refused, so that no adopt on its
--       way can take units for it)
--   -1  no such shard; nothing changed: wait, or leave it where the activity is settled
--   -2  no such reservation: the number is now marked refused, so that a late deduct cannot take units for it
--   -4  the order is of a later epoch than the shard, which has lost its rebuild; nothing changed: wait
--   -8  the shard is damaged; nothing changed; note: the key. An operator must rebuild it
--   -9  an argument is not as above; nothing changed; note: which one
-- An order in the ledger gives back what it really took less units_forfeited, whatever its epoch, because leaving the
-- ledger is what happens only once. Repeat after a lost answer.

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

local function is_order_no(text)
  local base = string.match(text, '^(.+)%-r[1-9][0-9]?[0-9]?[0-9]?$') or text
  return #base <= 28 and string.find(base, '^[0-9A-Za-z_]+$') ~= nil
end

local function answer(code, note, left)
  return {code, 0, 0, 0, left or -1, note or ''}
end

if #KEYS ~= 5 or #ARGV ~= 6 then return answer(-9, 'count') end
local order_no = ARGV[1]
local units_back, units_forfeited, epoch = whole(ARGV[2], 9), whole(ARGV[3], 9), whole(ARGV[4], 9)
if not is_order_no(order_no) then return answer(-9, 'order_no') end
if not units_back then return answer(-9, 'units_back') end
if not units_forfeited then return answer(-9, 'units_forfeited') end
if not epoch or epoch == 0 then return answer(-9, 'epoch') end
if ARGV[5] ~= '0' and ARGV[5] ~= '1' then return answer(-9, 'free_mark') end
if ARGV[6] ~= '0' and ARGV[6] ~= '1' then return answer(-9, 'reservations') end

local held = redis.call('HGET', KEYS[2], order_no)
local user, user_seq, reserved
if held then
  user, user_seq, reserved = string.match(held, '^([0-9]+)|([0-9]+)|([0-9]+)|[0-9]+|[0-9]+|[0-9]+$')
  reserved = stored(reserved)
  if not reserved then return answer(-8, 'held') end
end

local gone = redis.call('HGET', KEYS[3], order_no)
if gone and not held then return answer(0, gone) end

local stock = redis.call('GET', KEYS[1])
if not stock then return answer(-1) end
local left = stored(stock)
if not left then return answer(-8, 'stock') end
local meta = redis.call('HMGET', KEYS[5], 'cap', 'held', 'sold', 'forfeited', 'epoch', 'expire_at')
for i = 1, 6 do
  meta[i] = stored(meta[i])
  if not meta[i] then return answer(-8, 'meta', left) end
end
local cap, held_units, sold, forfeited_units, expire_at = meta[1], meta[2], meta[3], meta[4], meta[6]

-- Re-applying a moment that has passed would delete the shard.
local time = redis.call('TIME')
if expire_at <= tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000) then return answer(-8, 'meta', left) end

-- A hash that had been emptied comes back without its TTL. Looking first keeps five commands out of the AOF and away
-- from the replicas in nearly every call.
local function keep_ttl()
  for i = 1, 5 do
    if redis.call('PEXPIRETIME', KEYS[i]) ~= expire_at then redis.call('PEXPIREAT', KEYS[i], expire_at) end
  end
end

if not held then
  if epoch > meta[5] then return answer(-4, '', left) end
  if ARGV[6] == '1' or epoch < meta[5] then
    redis.call('HSET', KEYS[3], order_no, 'refused')
    keep_ttl()
  end
  if epoch < meta[5] then return answer(0, 'old_epoch', left) end
  if ARGV[6] == '1' then return answer(-2, '', left) end
elseif held_units < reserved then
  return answer(-8, 'meta', left)
end

local mark
if held and ARGV[5] == '1' then
  mark = redis.call('HGET', KEYS[4], user .. ':' .. user_seq)
  mark = mark and string.match(mark, '^(.+)|[0-9]+$')
end

local taken = reserved or (units_back + units_forfeited)
local forfeited = math.min(units_forfeited, taken)
local room = cap - (held_units - (reserved or 0)) - sold - (forfeited_units + forfeited) - left
local back = math.max(0, math.min(taken - forfeited, room))
local dropped = taken - forfeited - back

if held then
  redis.call('HDEL', KEYS[2], order_no)
  redis.call('HINCRBY', KEYS[5], 'held', -reserved)
  -- The mark may be another order's by now (the buyer's next one, or one that was adopted).
  if mark == order_no then redis.call('HDEL', KEYS[4], user .. ':' .. user_seq) end
end
if back > 0 then redis.call('INCRBY', KEYS[1], back) end
if forfeited > 0 then redis.call('HINCRBY', KEYS[5], 'forfeited', forfeited) end
redis.call('HSET', KEYS[3], order_no, forfeited > 0 and 'forfeited' or 'returned')
keep_ttl()
return {dropped > 0 and 2 or 1, back, forfeited, dropped, left + back, ''}
