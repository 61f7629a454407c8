#!lua
-- deduct: takes units of one stock shard for one order, or says why not.
--
-- KEYS   1 stock   2 held   3 gone   4 buyers   5 meta      of one shard, "sk:{<activity>:<shard>}:<name>"
-- ARGV   1 order_no   1 to 28 of [0-9A-Za-z_], with an optional suffix -r<1..9999>; given before the call, and the
--                     same again whenever the call is repeated
--        2 user       decimal, 1 to 9223372036854775807
--        3 quantity   decimal, 1 to 999999999 units
--        4 amount     decimal, 0 to 999999999999999, in minor units of the currency
--        5 epoch      decimal, 1 to 999999999, as the caller knows it from the activity
--
-- Answers {code, user_seq, left, reserved_at, note}: code, user_seq (which of the buyer's marks the order holds, -1
-- without a reservation), units left in this shard (-1 where not looked at), reserved_at (ms since 1970 by the clock of
-- Redis, 0 without a reservation) as integers; note is a word, often empty.
--    1  taken: send the order message with this user_seq and reserved_at
--    2  this order holds its units already: the same answer as the first time, go on as for 1
--    0  too little stock
--   -1  no such shard: not preheated, expired or lost; nothing can be sold from here
--   -2  the buyer's units would be over the limit
--   -3  this order number is done with and can never hold stock again; note: returned, forfeited, refused or sold
--   -4  not for sale now; note: not_started, ended, paused or epoch
--   -5  the order number is held by another purchase (user, quantity or amount differ): a mistake of the caller
--   -8  the shard is damaged; note: the key. An operator must rebuild it
--   -9  an argument is not as above; note: which one
-- Only 1 writes. The order of the tests is that of a repeated call: what happened to this order comes first. Where the
-- answer was lost, call again with the same arguments; never give back what may have been taken.

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
  return {code, -1, left or -1, 0, note or ''}
end

if #KEYS ~= 5 or #ARGV ~= 5 then return answer(-9, 'count') end
local order_no, user, amount = ARGV[1], ARGV[2], ARGV[4]
local quantity, epoch = whole(ARGV[3], 9), whole(ARGV[5], 9)
if not is_order_no(order_no) then return answer(-9, 'order_no') end
if not is_user(user) then return answer(-9, 'user') end
if not quantity or quantity == 0 then return answer(-9, 'quantity') end
if not whole(amount, 15) then return answer(-9, 'amount') end
if not epoch or epoch == 0 then return answer(-9, 'epoch') end

local held = redis.call('HGET', KEYS[2], order_no)
if held then
  local h_user, h_seq, h_quantity, h_amount, h_time =
    string.match(held, '^([0-9]+)|([0-9]+)|([0-9]+)|([0-9]+)|[0-9]+|([0-9]+)$')
  if not h_user then return answer(-8, 'held') end
  local left = stored(redis.call('GET', KEYS[1])) or -1
  if h_user ~= user or h_quantity ~= ARGV[3] or h_amount ~= amount then return answer(-5, '', left) end
  return {2, tonumber(h_seq), left, tonumber(h_time), ''}
end

local gone = redis.call('HGET', KEYS[3], order_no)
if gone then return answer(-3, gone) end

local stock = redis.call('GET', KEYS[1])
if not stock then return answer(-1) end
local left = stored(stock)
if not left then return answer(-8, 'stock') end

local meta = redis.call('HMGET', KEYS[5], 'epoch', 'limit', 'starts_at', 'ends_at', 'paused', 'expire_at', 'held')
for i = 1, 7 do
  meta[i] = stored(meta[i])
  if not meta[i] then return answer(-8, 'meta', left) end
end
local limit, starts_at, ends_at, paused, expire_at = meta[2], meta[3], meta[4], meta[5], meta[6]
if limit < 1 or limit > 100 then return answer(-8, 'meta', left) end

local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
-- Re-applying a moment that has passed would delete the shard.
if expire_at <= now then return answer(-8, 'meta', left) end
if epoch ~= meta[1] then return answer(-4, 'epoch', left) end
if now < starts_at then return answer(-4, 'not_started', left) end
if now >= ends_at then return answer(-4, 'ended', left) end
if paused ~= 0 then return answer(-4, 'paused', left) end
if quantity > limit then return answer(-2, '', left) end

-- A mark is at least one unit, so a buyer within the limit has a free mark below it: at most `limit` (100) to look at.
local fields = {}
for seq = 0, limit - 1 do fields[seq + 1] = user .. ':' .. seq end
local marks = redis.call('HMGET', KEYS[4], unpack(fields))
local units, user_seq = 0, nil
for i = 1, limit do
  if marks[i] then
    local taken = stored(string.match(marks[i], '|([0-9]+)$'))
    if not taken then return answer(-8, 'buyers', left) end
    units = units + taken
  elseif not user_seq then
    user_seq = i - 1
  end
end
if units + quantity > limit then return answer(-2, '', left) end
if not user_seq then return answer(-8, 'buyers', left) end
if left < quantity then return answer(0, '', left) end

local reserved_at = string.format('%.0f', now)
redis.call('DECRBY', KEYS[1], ARGV[3])
redis.call('HSET', KEYS[2], order_no, table.concat({user, user_seq, ARGV[3], amount, ARGV[5], reserved_at}, '|'))
redis.call('HSET', KEYS[4], fields[user_seq + 1], order_no .. '|' .. ARGV[3])
redis.call('HINCRBY', KEYS[5], 'held', ARGV[3])
-- A hash that had been emptied has come back without its TTL; of the five keys only these two can have been empty. Looking
-- first keeps both commands out of the AOF and away from the replicas in nearly every call.
for i = 2, 4, 2 do
  if redis.call('PEXPIRETIME', KEYS[i]) ~= expire_at then redis.call('PEXPIREAT', KEYS[i], expire_at) end
end
return {1, user_seq, left - quantity, now, ''}
