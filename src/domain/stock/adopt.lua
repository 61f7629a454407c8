#!lua
-- adopt: makes the shard know an order that stands in the database: one that Redis forgot in a failover, or each one
-- after a rebuild. Called by orderd only, with what the row says.
--
-- KEYS   1 stock   2 held   3 gone   4 buyers   5 meta      of one shard, "sk:{<activity>:<shard>}:<name>"
-- ARGV   1 order_no      as for deduct
--        2 user          decimal, 1 to 9223372036854775807
--        3 user_seq      decimal, 0 to 9999: which of the buyer's marks
--        4 quantity      decimal, 1 to 999999999 units
--        5 amount        decimal, 0 to 999999999999999, in minor units of the currency
--        6 epoch         decimal, 1 to 999999999: the order's; may be older than the shard's
--        7 reserved_at   decimal, ms since 1970, not 0: the order's
--        8 status        pending: it belongs in the ledger
--                        paid: it is sold
--                        closed: it had been live, and the activity forbids its buyer to buy again: only the mark is of
--                           interest
--
-- Answers {code, from_forfeited, from_left, left, note}: units taken (0 unless 1), units now left in this shard (-1
-- where not looked at); note is a word, often empty. With 1 to 4 the buyer's mark was there or was set now; where it is
-- another order's by now it stays so, and note says mark_taken.
--    1  adopted: its units were taken, from the forfeited ones first (the database has them after all), the rest from
--       those left. pending: it is in the ledger; paid: it is sold
--    2  the ledger has it already, units did not move; a paid one is to be settled, a closed one to be returned
--    3  it is sold already, units did not move
--    4  closed, and not in the ledger
--    0  too few units forfeited and left; nothing changed. Raise an alarm, and try again when some have come back
--   -1  no such shard; nothing changed
--   -3  the order is done with in a way that does not go with its status, nothing changed; note: returned, forfeited,
--       refused or sold. Read the row again; raise an alarm where it still says the same
--   -4  the order is of a later epoch than the shard, which has lost its rebuild; nothing changed
--   -5  the order number is held by another purchase (user, user_seq, quantity or amount differ); nothing changed.
--       Raise an alarm
--   -8  the shard is damaged; nothing changed; note: the key. An operator must rebuild it
--   -9  an argument is not as above; nothing changed; note: which one
-- Neither a pause nor the end of the sale matters here, nor does the buyer's limit: the order stands. Where nothing is
-- to be done nothing is written, so it may be called for each order just to make sure. Repeat after a lost answer.

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

local function is_user(text)
  return string.find(text, '^[1-9][0-9]*$') ~= nil
    and (#text < 19 or (#text == 19 and text <= '9223372036854775807'))
end

local function answer(code, note, left)
  return {code, 0, 0, left or -1, note or ''}
end

if #KEYS ~= 5 or #ARGV ~= 8 then return answer(-9, 'count') end
local order_no, user, user_seq, amount, status = ARGV[1], ARGV[2], ARGV[3], ARGV[5], ARGV[8]
local quantity, epoch, reserved_at = whole(ARGV[4], 9), whole(ARGV[6], 9), whole(ARGV[7], 15)
if not is_order_no(order_no) then return answer(-9, 'order_no') end
if not is_user(user) then return answer(-9, 'user') end
if not whole(user_seq, 4) then return answer(-9, 'user_seq') end
if not quantity or quantity == 0 then return answer(-9, 'quantity') end
if not whole(amount, 15) then return answer(-9, 'amount') end
if not epoch or epoch == 0 then return answer(-9, 'epoch') end
if not reserved_at or reserved_at == 0 then return answer(-9, 'reserved_at') end
if status ~= 'pending' and status ~= 'paid' and status ~= 'closed' then return answer(-9, 'status') end

-- What the shard knows of the order. A code here means that no units are to be moved.
local code
local held = redis.call('HGET', KEYS[2], order_no)
local gone = redis.call('HGET', KEYS[3], order_no)
if held then
  local h_user, h_seq, h_quantity, h_amount =
    string.match(held, '^([0-9]+)|([0-9]+)|([0-9]+)|([0-9]+)|[0-9]+|[0-9]+$')
  if not h_user then return answer(-8, 'held') end
  if h_user ~= user or h_seq ~= user_seq or h_quantity ~= ARGV[4] or h_amount ~= amount then return answer(-5) end
  code = 2
elseif gone and (gone == 'sold') == (status == 'closed') then
  return answer(-3, gone)
elseif status == 'closed' then
  code = 4
elseif gone then
  code = 3
end

local field = user .. ':' .. user_seq
local mark = redis.call('HGET', KEYS[4], field)
local note = ''
if mark then
  local owner = string.match(mark, '^([^|]+)|[1-9][0-9]*$')
  if not owner then return answer(-8, 'buyers') end
  if owner ~= order_no then note = 'mark_taken' end
  if code then return answer(code, note) end
end

local stock = redis.call('GET', KEYS[1])
if not stock then return answer(-1) end
local left = stored(stock)
if not left then return answer(-8, 'stock') end
local meta = redis.call('HMGET', KEYS[5], 'held', 'sold', 'forfeited', 'epoch', 'expire_at')
for i = 1, 5 do
  meta[i] = stored(meta[i])
  if not meta[i] then return answer(-8, 'meta', left) end
end
local forfeited, expire_at = meta[3], meta[5]

-- Re-applying a moment that has passed would delete the shard.
local time = redis.call('TIME')
if expire_at <= tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000) then return answer(-8, 'meta', left) end
if not held and gone ~= 'sold' and epoch > meta[4] then return answer(-4, '', left) end

local from_forfeited, from_left = 0, 0
if not code then
  from_forfeited = math.max(0, math.min(forfeited, quantity))
  from_left = quantity - from_forfeited
  if from_left > left then return answer(0, '', left) end
  code = 1
  if from_left > 0 then redis.call('DECRBY', KEYS[1], from_left) end
  if from_forfeited > 0 then redis.call('HINCRBY', KEYS[5], 'forfeited', -from_forfeited) end
  if status == 'paid' then
    redis.call('HINCRBY', KEYS[5], 'sold', quantity)
    redis.call('HSET', KEYS[3], order_no, 'sold')
  else
    redis.call('HINCRBY', KEYS[5], 'held', quantity)
    redis.call('HSET', KEYS[2], order_no, table.concat({user, user_seq, ARGV[4], amount, ARGV[6], ARGV[7]}, '|'))
  end
end
if not mark then redis.call('HSET', KEYS[4], field, order_no .. '|' .. ARGV[4]) end
-- A hash that had been emptied comes back without its TTL. Looking first keeps five commands out of the AOF and away
-- from the replicas in nearly every call.
for i = 1, 5 do
  if redis.call('PEXPIRETIME', KEYS[i]) ~= expire_at then redis.call('PEXPIREAT', KEYS[i], expire_at) end
end
return {code, from_forfeited, from_left, left - from_left, note}
