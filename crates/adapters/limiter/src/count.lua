-- Counts one use. KEYS[1]: the world. ARGV[1]: length of the window in seconds.
-- Answers: uses in the window, when it opened, the time of this server; both times in Unix seconds.
-- Only this server's clock decides, so that replicas whose clocks differ count in the same window.
local now = tonumber(redis.call('TIME')[1])
local length = tonumber(ARGV[1])
local opened = tonumber(redis.call('HGET', KEYS[1], 'opened'))
if not opened or now >= opened + length or opened > now + length then
  opened = now
  redis.call('HSET', KEYS[1], 'opened', opened, 'used', 0)
  redis.call('EXPIRE', KEYS[1], length)
end
return {redis.call('HINCRBY', KEYS[1], 'used', 1), opened, now}
