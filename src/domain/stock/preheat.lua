#!lua
-- preheat: puts one shard of an activity on sale. Never overwrites what is live; may be repeated at any time.
--
-- KEYS   1 stock   2 held   3 gone   4 buyers   5 meta      of one shard, "sk:{<activity>:<shard>}:<name>"
-- ARGV   1 cap         decimal, 0 to 999999999: units of this shard
--        2 epoch       decimal, 1 to 999999999
--        3 limit       decimal, 1 to 100: units one buyer may hold
--        4 starts_at   decimal, ms since 1970: first instant of the sale
--        5 ends_at     decimal, ms since 1970, later: first instant after it
--        6 expire_at   decimal, ms since 1970, not before ends_at and in the future: when the keys vanish
--
-- Answers {code, left, note}: units left in this shard (-1 where there is none); note is a word, often empty.
--    1  created, on sale from starts_at
--    2  already there with these values; what was sold stays sold. Its expire_at was pushed out where it was earlier
--    3  a half-done preheat of this epoch, from which nothing was ever sold, was completed
--   -1  there with other values, nothing changed; note: the first that differs (cap, limit, starts_at or ends_at)
--   -2  there with another epoch, nothing changed
--   -8  parts of the shard are missing or damaged and units may have been sold, or a key is there that preheat did not
--       make; nothing changed; note: the key. An operator must rebuild or remove it
--   -9  an argument is not as above; nothing changed; note: which one

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

local function answer(code, note, left)
  return {code, left or -1, note or ''}
end

if #KEYS ~= 5 or #ARGV ~= 6 then return answer(-9, 'count') end
local names = {'cap', 'epoch', 'limit', 'starts_at', 'ends_at', 'expire_at'}
local digits = {9, 9, 3, 15, 15, 15}
local want = {}
for i = 1, 6 do
  want[names[i]] = whole(ARGV[i], digits[i])
  if not want[names[i]] then return answer(-9, names[i]) end
end
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
if want.epoch == 0 then return answer(-9, 'epoch') end
if want.limit < 1 or want.limit > 100 then return answer(-9, 'limit') end
if want.ends_at <= want.starts_at then return answer(-9, 'ends_at') end
-- An expire_at in the past would delete the keys in the act.
if want.expire_at < want.ends_at or want.expire_at <= now then return answer(-9, 'expire_at') end

local function expire(at)
  for i = 1, 5 do redis.call('PEXPIREAT', KEYS[i], at) end
end

local function create(code)
  redis.call('HSET', KEYS[5], 'cap', ARGV[1], 'held', '0', 'sold', '0', 'forfeited', '0', 'epoch', ARGV[2], 'limit',
    ARGV[3], 'starts_at', ARGV[4], 'ends_at', ARGV[5], 'paused', '0', 'expire_at', ARGV[6])
  redis.call('SET', KEYS[1], ARGV[1])
  expire(want.expire_at)
  return answer(code, '', want.cap)
end

local stock = redis.call('GET', KEYS[1])
local has_meta = redis.call('HLEN', KEYS[5]) > 0
local meta = redis.call('HMGET', KEYS[5], 'cap', 'epoch', 'limit', 'starts_at', 'ends_at', 'expire_at', 'held', 'sold',
  'forfeited')
local ledgers = redis.call('EXISTS', KEYS[2], KEYS[3], KEYS[4])

if not stock and not has_meta then
  if ledgers > 0 then return answer(-8, 'stock') end
  return create(1)
end

local left = stored(stock)
if stock and not left then return answer(-8, 'stock') end
if not has_meta then return answer(-8, 'meta', left) end
-- A half-done preheat may lack values; where stock is there, all must be.
for i = 1, 9 do
  if (meta[i] or stock) and not stored(meta[i]) then return answer(-8, 'meta', left) end
end
if meta[2] and stored(meta[2]) ~= want.epoch then return answer(-2, 'epoch', left) end
for i = 1, 5 do
  if meta[i] and stored(meta[i]) ~= want[names[i]] then return answer(-1, names[i], left) end
end

if not stock then
  local moved = 0
  for i = 7, 9 do moved = moved + math.abs(stored(meta[i]) or 0) end
  if ledgers > 0 or moved > 0 or not meta[2] then return answer(-8, 'stock') end
  return create(3)
end

local expire_at = math.max(want.expire_at, stored(meta[6]))
if expire_at ~= stored(meta[6]) then redis.call('HSET', KEYS[5], 'expire_at', ARGV[6]) end
expire(expire_at)
return answer(2, '', left)
