"""The Lua scripts of the Redis session store. Data for `redis.py`; each runs as one atomic step.

Keys, after the prefix:

    session:S   hash of the session, plus last_seq and active_run     sessions     by last_active
    thread:T    the session with that thread id                       user:U       by last_active
    messages:S  list of message ids         message:M  hash           assistant:A  by last_active
    runs:S      set of run ids              run:R      hash           leases       by lease_until
    events:S    batches by last_seq         clients:S  client message id to run id
    approvals:R request id to request       decisions:R request id to decision
    away        sessions that were put away, by when; they are in no other index but `sessions`
    bytes:U     bytes of all sessions of a user, also in each session's hash
    deleted     set of ids of deleted sessions, which are not used again
"""

from __future__ import annotations

TOUCH_FUNCTION = """
local function touch(P, sid, at)
  local session = P..'session:'..sid
  local of = redis.call('HMGET', session, 'user_id', 'assistant_id', 'deleted_at')
  redis.call('HSET', session, 'last_active', at)
  redis.call('ZADD', P..'sessions', at, sid)
  if of[3] then return end
  redis.call('ZADD', P..'user:'..of[1], at, sid)
  redis.call('ZADD', P..'assistant:'..of[2], at, sid)
end
"""

GROW_FUNCTION = """
local function grow(P, sid, user, bytes)
  redis.call('HINCRBY', P..'session:'..sid, 'bytes_used', bytes)
  redis.call('INCRBY', P..'bytes:'..user, bytes)
end
"""

# ARGV session, thread, time, user, bytes, then the session's fields
CREATE = (
    TOUCH_FUNCTION
    + GROW_FUNCTION
    + """
local P, sid, thread, at = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
if redis.call('EXISTS', P..'session:'..sid) == 1 then return 'exists' end
if redis.call('SISMEMBER', P..'deleted', sid) == 1 then return 'deleted' end
if redis.call('SETNX', P..'thread:'..thread, sid) == 0 then return 'thread' end
redis.call('HSET', P..'session:'..sid, unpack(ARGV, 7))
grow(P, sid, ARGV[5], ARGV[6])
touch(P, sid, at)
return 'created'
"""
)

# ARGV from 4 on: the fields to set, if any
UPDATE = (
    TOUCH_FUNCTION
    + """
local P, sid, at = ARGV[1], ARGV[2], ARGV[3]
local session = P..'session:'..sid
if redis.call('EXISTS', session) == 0 then return 0 end
if redis.call('HEXISTS', session, 'deleted_at') == 1 then return 0 end
if #ARGV > 3 then redis.call('HSET', session, unpack(ARGV, 4)) end
touch(P, sid, at)
return 1
"""
)

# ARGV session, time
SOFT_DELETE = """
local P, sid, at = ARGV[1], ARGV[2], ARGV[3]
local session = P..'session:'..sid
local of = redis.call('HMGET', session, 'user_id', 'assistant_id')
if not of[1] or redis.call('HSETNX', session, 'deleted_at', at) == 0 then return 0 end
redis.call('ZREM', P..'user:'..of[1], sid)
redis.call('ZREM', P..'assistant:'..of[2], sid)
redis.call('ZADD', P..'away', at, sid)
return 1
"""

RESTORE = (
    TOUCH_FUNCTION
    + """
local P, sid = ARGV[1], ARGV[2]
local session = P..'session:'..sid
if redis.call('HDEL', session, 'deleted_at') == 0 then return 0 end
redis.call('ZREM', P..'away', sid)
touch(P, sid, redis.call('HGET', session, 'last_active'))
return 1
"""
)

# ARGV time, how many
SOFT_DELETED_BEFORE = """
local found = {}
local away = redis.call('ZRANGEBYSCORE', ARGV[1]..'away', '-inf', '('..ARGV[2], 'LIMIT', 0, ARGV[3])
for i, sid in ipairs(away) do
  found[i] = redis.call('HGETALL', ARGV[1]..'session:'..sid)
end
return found
"""

BY_THREAD = """
local sid = redis.call('GET', ARGV[1]..'thread:'..ARGV[2])
return sid and redis.call('HGETALL', ARGV[1]..'session:'..sid) or {}
"""

# an index of sessions, newest first: ARGV index, first, last
LIST = """
local found = {}
for i, sid in ipairs(redis.call('ZREVRANGE', ARGV[1]..ARGV[2], ARGV[3], ARGV[4])) do
  found[i] = redis.call('HGETALL', ARGV[1]..'session:'..sid)
end
return found
"""

EXPIRED = """
local idle = {}
for _, sid in ipairs(redis.call('ZRANGEBYSCORE', ARGV[1]..'sessions', '-inf', '('..ARGV[2])) do
  if redis.call('HEXISTS', ARGV[1]..'session:'..sid, 'active_run') == 0 then
    idle[#idle + 1] = sid
  end
end
return idle
"""

# ARGV session, cutoff: with a cutoff, only if the session is still idle; '1' to free the id
DELETE = """
local P, sid, cutoff = ARGV[1], ARGV[2], ARGV[3]
local session = P..'session:'..sid
local of = redis.call('HMGET', session,
  'user_id', 'assistant_id', 'thread_id', 'last_active', 'active_run', 'bytes_used')
if not of[1] then return 0 end
if cutoff ~= '' and (of[5] or tonumber(of[4]) >= tonumber(cutoff)) then return 0 end
for _, message in ipairs(redis.call('LRANGE', P..'messages:'..sid, 0, -1)) do
  redis.call('UNLINK', P..'message:'..message)
end
for _, run in ipairs(redis.call('SMEMBERS', P..'runs:'..sid)) do
  redis.call('UNLINK', P..'run:'..run, P..'approvals:'..run, P..'decisions:'..run)
  redis.call('ZREM', P..'leases', run)
end
redis.call('UNLINK', session, P..'messages:'..sid, P..'runs:'..sid, P..'events:'..sid,
  P..'clients:'..sid, P..'thread:'..of[3])
redis.call('ZREM', P..'sessions', sid)
redis.call('ZREM', P..'away', sid)
redis.call('ZREM', P..'user:'..of[1], sid)
redis.call('ZREM', P..'assistant:'..of[2], sid)
redis.call('DECRBY', P..'bytes:'..of[1], of[6] or 0)
if ARGV[4] ~= '1' then redis.call('SADD', P..'deleted', sid) end
return 1
"""

SAVE_MESSAGE = """
local P, sid, message = ARGV[1], ARGV[2], ARGV[3]
if redis.call('EXISTS', P..'session:'..sid) == 0 then return 0 end
redis.call('HSET', P..'message:'..message, unpack(ARGV, 4))
redis.call('RPUSH', P..'messages:'..sid, message)
return 1
"""

# ARGV session, first, last
GET_MESSAGES = """
local found = {}
for i, message in ipairs(redis.call('LRANGE', ARGV[1]..'messages:'..ARGV[2], ARGV[3], ARGV[4])) do
  found[i] = redis.call('HGETALL', ARGV[1]..'message:'..message)
end
return found
"""

DELETE_MESSAGES = """
local list = ARGV[1]..'messages:'..ARGV[2]
local ids = redis.call('LRANGE', list, 0, -1)
for _, message in ipairs(ids) do redis.call('UNLINK', ARGV[1]..'message:'..message) end
redis.call('UNLINK', list)
return #ids
"""
