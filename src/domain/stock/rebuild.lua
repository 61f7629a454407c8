#!lua
-- rebuild: puts a new, empty and paused shard in the place of what is left of an old one, in one step. adopt then fills
-- it from the database, and pause lets the sale go on. Called by orderd only.
--
-- KEYS   1 stock   2 held   3 gone   4 buyers   5 meta      of one shard, "sk:{<activity>:<shard>}:<name>"
-- ARGV   1 to 6 as for preheat: cap, epoch, limit, starts_at, ends_at, expire_at; the epoch must be later than that of
--        all that may be left of the shard, and be committed in the database before the call
--
-- Answers {code, left, dropped, note}: units left in this shard (-1 where there is none or it was not looked at),
-- orders that were in the ledger of the old shard and are not in the new one (0 unless 2); note is a word, often empty.
--    1  created, nothing was there
--    2  created in the place of an older or unreadable shard. Each dropped order must be a row in the database by now;
--       adopt brings it back
--    0  rebuilt before, with these values; what was adopted since stays so. Its expire_at was pushed out where it was
--       earlier
--   -1  there with this epoch but other values, nothing changed; note: the first that differs (cap, limit, starts_at or
--       ends_at). Take the next epoch
--   -2  there with a later epoch; nothing changed
--   -3  the old shard is on sale; nothing changed. Pause it, and let what it has reserved become rows
--   -8  the shard is damaged within this epoch; nothing changed; note: the key. Take the next epoch
--   -9  an argument is not as above; nothing changed; note: which one
-- Nobody can take units between the old shard and the new one, nor from the new one before it is complete. Repeat after
-- a lost answer.

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

local function answer(code, note, left, dropped)
  return {code, left or -1, dropped or 0, note or ''}
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

local function create(code, dropped)
  redis.call('HSET', KEYS[5], 'cap', ARGV[1], 'held', '0', 'sold', '0', 'forfeited', '0', 'epoch', ARGV[2], 'limit',
    ARGV[3], 'starts_at', ARGV[4], 'ends_at', ARGV[5], 'paused', '1', 'expire_at', ARGV[6])
  redis.call('SET', KEYS[1], ARGV[1])
  expire(want.expire_at)
  return answer(code, '', want.cap, dropped)
end

if redis.call('EXISTS', unpack(KEYS)) == 0 then return create(1) end

-- Whatever is there must not keep us from replacing it, a key of a foreign type included.
local function try(...)
  local reply = redis.pcall(...)
  if type(reply) == 'table' and reply.err then return nil end
  return reply
end

local left = stored(try('GET', KEYS[1]))
local fields = {'cap', 'epoch', 'limit', 'starts_at', 'ends_at', 'expire_at', 'paused', 'held', 'sold', 'forfeited'}
local values = try('HMGET', KEYS[5], unpack(fields)) or {}
local meta = {}
for i = 1, #fields do meta[fields[i]] = stored(values[i]) end

if meta.epoch and meta.epoch > want.epoch then return answer(-2, '', left) end
if meta.epoch == want.epoch then
  if not left then return answer(-8, 'stock') end
  for i = 1, #fields do
    if not meta[fields[i]] then return answer(-8, 'meta', left) end
  end
  for i = 1, 5 do
    if meta[names[i]] ~= want[names[i]] then return answer(-1, names[i], left) end
  end
  if want.expire_at > meta.expire_at then redis.call('HSET', KEYS[5], 'expire_at', ARGV[6]) end
  expire(math.max(want.expire_at, meta.expire_at))
  return answer(0, '', left)
end

-- What deduct needs to take units. Where it is all there and pause can stop it, pause has to come first.
if left and meta.epoch and meta.limit and meta.starts_at and meta.ends_at and meta.expire_at and meta.held
  and meta.paused == 0 and meta.expire_at > now and meta.ends_at > now then
  return answer(-3, '', left)
end

local dropped = try('HLEN', KEYS[2]) or 0
-- UNLINK leaves the freeing of a large hash to another thread of the server.
redis.call('UNLINK', unpack(KEYS))
return create(2, dropped)
