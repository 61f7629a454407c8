#!lua flags=no-writes
-- look: what one stock shard knows of a few orders, all at one instant. Writes nothing and may run on a replica.
--
-- KEYS   1 stock   2 held   3 gone   4 buyers   5 meta      of one shard, "sk:{<activity>:<shard>}:<name>"
-- ARGV   1 order_no   any text
--        2 mark       "<user>:<user_seq>" of that order; empty: its buyer's mark is of no interest
--        3, 4         the next order, and so on: 1 to 200 orders
--
-- Answers a list. Its first element is the code:
--    1  read
--   -9  called with other keys or arguments; nothing follows
-- After the code the time of Redis in ms since 1970, then for each order, as stored (empty where there is none): its
-- entry in held, its word in gone, and who has the mark ("<order_no>|<quantity>").

if #KEYS ~= 5 or #ARGV == 0 or #ARGV % 2 ~= 0 or #ARGV > 400 then return {-9} end

local orders, marks = {}, {}
for i = 1, #ARGV, 2 do
  orders[#orders + 1] = ARGV[i]
  marks[#marks + 1] = ARGV[i + 1]
end
local held = redis.call('HMGET', KEYS[2], unpack(orders))
local gone = redis.call('HMGET', KEYS[3], unpack(orders))
local mark = redis.call('HMGET', KEYS[4], unpack(marks))
local time = redis.call('TIME')
local answer = {1, tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)}
for i = 1, #orders do
  answer[#answer + 1] = held[i] or ''
  answer[#answer + 1] = gone[i] or ''
  answer[#answer + 1] = mark[i] or ''
end
return answer
