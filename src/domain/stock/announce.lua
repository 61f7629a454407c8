#!lua
-- announce: tells gates and web tiers how an activity stands: in a hash beside its first shard, and on a pub/sub channel
-- of the same name. Called by orderd only, with what the database says, after the shards were brought to agree with it.
--
-- KEYS   1 stock   2 held   3 gone   4 buyers   5 meta      of shard 0, "sk:{<activity>:0}:<name>"
--        6 state   "sk:{<activity>:0}:state", a hash: state, starts_at, ends_at, epoch, shards, changed_at
-- ARGV   1 state       scheduled, running, ended or settled
--        2 starts_at   decimal, ms since 1970
--        3 ends_at     decimal, ms since 1970
--        4 epoch       decimal, 1 to 999999999
--        5 shards      decimal, 1 to 1024
--        6 look        1: only say whether there would be something to announce; 0: do it
--
-- Answers {code, changed_at, note}: changed_at is when the hash was last written, ms since 1970 by the clock of Redis (0
-- where there is none); note is a word, often empty.
--    1  announced: the hash was written and the change published; note: not_published where this account may not publish
--    0  the hash says so already (a TTL that differed was set right all the same); settled: there is none any more
--   -1  no such shard: nothing to announce for; nothing changed
--   -4  the shard has another epoch, so that what would be announced is not for sale; nothing changed
--   -8  the shard is damaged; nothing changed; note: the key. An operator must rebuild it
--   -9  an argument is not as above; nothing changed; note: which one
-- The hash lives as long as the shard; settled removes it. What is published is the hash as JSON, with v and activity:
-- {"v":1,"activity":1001,"state":"running","starts_at":...,"ends_at":...,"epoch":1,"shards":4,"changed_at":...}

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

local function answer(code, note, changed_at)
  return {code, changed_at or 0, note or ''}
end

if #KEYS ~= 6 or #ARGV ~= 6 then return answer(-9, 'count') end
local activity = string.match(KEYS[6], '^sk:{([1-9][0-9]*):0}:state$')
local states = {scheduled = true, running = true, ended = true, settled = true}
local names = {'state', 'starts_at', 'ends_at', 'epoch', 'shards'}
local digits = {0, 15, 15, 9, 4}
if not activity then return answer(-9, 'key') end
if not states[ARGV[1]] then return answer(-9, 'state') end
for i = 2, 5 do
  if not whole(ARGV[i], digits[i]) then return answer(-9, names[i]) end
end
if ARGV[4] == '0' then return answer(-9, 'epoch') end
if ARGV[5] == '0' or tonumber(ARGV[5]) > 1024 then return answer(-9, 'shards') end
if ARGV[6] ~= '0' and ARGV[6] ~= '1' then return answer(-9, 'look') end

local now_parts = redis.call('TIME')
local now = tonumber(now_parts[1]) * 1000 + math.floor(tonumber(now_parts[2]) / 1000)
local there = redis.call('HMGET', KEYS[6], 'state', 'starts_at', 'ends_at', 'epoch', 'shards', 'changed_at')
local changed_at = stored(there[6]) or 0
local settled, expire_at = ARGV[1] == 'settled', nil

if settled then
  if redis.call('EXISTS', KEYS[6]) == 0 then return answer(0) end
else
  local stock = redis.call('GET', KEYS[1])
  if not stock then return answer(-1, '', changed_at) end
  if not stored(stock) then return answer(-8, 'stock', changed_at) end
  local meta = redis.call('HMGET', KEYS[5], 'epoch', 'expire_at')
  if not stored(meta[1]) or not stored(meta[2]) then return answer(-8, 'meta', changed_at) end
  expire_at = stored(meta[2])
  -- Applying a moment that has passed would delete the hash.
  if expire_at <= now then return answer(-8, 'meta', changed_at) end
  if stored(meta[1]) ~= tonumber(ARGV[4]) then return answer(-4, '', changed_at) end
end

local same = not settled and changed_at > 0
for i = 1, 5 do same = same and there[i] == ARGV[i] end
if same then
  if ARGV[6] == '0' and redis.call('PEXPIRETIME', KEYS[6]) ~= expire_at then
    redis.call('PEXPIREAT', KEYS[6], expire_at)
  end
  return answer(0, '', changed_at)
end
if ARGV[6] == '1' then return answer(1, '', changed_at) end

local stamp = string.format('%.0f', now)
if settled then
  redis.call('UNLINK', KEYS[6])
else
  redis.call('HSET', KEYS[6], 'state', ARGV[1], 'starts_at', ARGV[2], 'ends_at', ARGV[3], 'epoch', ARGV[4], 'shards',
    ARGV[5], 'changed_at', stamp)
  redis.call('PEXPIREAT', KEYS[6], expire_at)
end
-- An account without rights on the channel must not keep the hash from being right.
local heard = redis.pcall('PUBLISH', KEYS[6], '{"v":1,"activity":' .. activity .. ',"state":"' .. ARGV[1] ..
  '","starts_at":' .. ARGV[2] .. ',"ends_at":' .. ARGV[3] .. ',"epoch":' .. ARGV[4] .. ',"shards":' .. ARGV[5] ..
  ',"changed_at":' .. stamp .. '}')
return answer(1, type(heard) == 'table' and 'not_published' or '', now)
