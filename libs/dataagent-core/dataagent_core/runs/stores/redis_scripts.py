"""The Lua scripts of the Redis run store. Data for `redis.py`; each runs as one atomic step.

The keys are listed in `session/stores/redis_scripts.py`. `owns` is the fence: it is false once the
run has ended or a newer attempt owns it.
"""

from __future__ import annotations

from dataagent_core.session.stores.redis_scripts import GROW_FUNCTION, TOUCH_FUNCTION

_OWNS = """
local ACTIVE = {queued = true, running = true, waiting = true}
local function owns(P, run, attempt)
  local kept = redis.call('HMGET', P..'run:'..run, 'attempt', 'status')
  return kept[1] == attempt and ACTIVE[kept[2]]
end
"""

_KEEP = """
local function keep(P, sid, run, first, last, lines)
  if lines == '' then return end
  redis.call('ZADD', P..'events:'..sid, last, run..'\\n'..first..'\\n'..lines)
  redis.call('HSETNX', P..'run:'..run, 'first_seq', first)
  redis.call('HSET', P..'run:'..run, 'last_seq', last)
  local known = tonumber(redis.call('HGET', P..'session:'..sid, 'last_seq') or 0)
  if tonumber(last) > known then redis.call('HSET', P..'session:'..sid, 'last_seq', last) end
end
"""

# ARGV session, run, '' or '=' and client message id, lease score or '', title or '' and the one it
# may replace, most runs of the user and in the queue (0 is any), the user, then three hashes:
# the run, the question and the answer, each as its number of parts and the parts, its id first
OPEN = """
local P, sid, run, client, lease = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local session = P..'session:'..sid
if redis.call('EXISTS', session) == 0 then return {'gone'} end
if redis.call('HEXISTS', session, 'deleted_at') == 1 then return {'gone'} end
local last = redis.call('HGET', session, 'last_seq') or '0'
if client ~= '' then
  local seen = redis.call('HGET', P..'clients:'..sid, client)
  if seen then return {'seen', last, redis.call('HGETALL', P..'run:'..seen)} end
end
local active = redis.call('HGET', session, 'active_run')
if active then return {'busy', active} end
local waiting = redis.call('LRANGE', P..'queued', 0, -1)
if lease == '' and ARGV[9] ~= '0' and #waiting >= tonumber(ARGV[9]) then
  return {'full', #waiting}
end
if ARGV[8] ~= '0' then
  local mine = 0
  for _, some in ipairs({redis.call('ZRANGE', P..'leases', 0, -1), waiting}) do
    for _, other in ipairs(some) do
      if redis.call('HGET', P..'run:'..other, 'user_id') == ARGV[10] then mine = mine + 1 end
    end
  end
  if mine >= tonumber(ARGV[8]) then return {'crowded', mine} end
end
if ARGV[6] ~= '' and redis.call('HGET', session, 'title') == ARGV[7] then
  redis.call('HSET', session, 'title', ARGV[6])
end
local at = 11
local function hash(key)
  local size = tonumber(ARGV[at])
  redis.call('HSET', key, unpack(ARGV, at + 1, at + size))
  at = at + size + 1
end
hash(P..'run:'..run)
for _ = 1, 2 do
  local message = ARGV[at + 2]
  hash(P..'message:'..message)
  redis.call('RPUSH', P..'messages:'..sid, message)
end
redis.call('SADD', P..'runs:'..sid, run)
redis.call('HSET', session, 'active_run', run)
if client ~= '' then redis.call('HSET', P..'clients:'..sid, client, run) end
if lease ~= '' then
  redis.call('ZADD', P..'leases', lease, run)
else
  redis.call('RPUSH', P..'queued', run)
end
return {'new', last}
"""

# ARGV run, worker, lease end, the time leases are judged by, now
CLAIM = """
local key, worker, lease, at = ARGV[1]..'run:'..ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local kept = redis.call('HMGET', key, 'status', 'lease_until')
if kept[1] == 'queued' then
  redis.call('HSET', key, 'status', 'running')
  redis.call('LREM', ARGV[1]..'queued', 1, ARGV[2])
elseif kept[1] ~= 'running' and kept[1] ~= 'waiting' then
  return false
elseif kept[2] and tonumber(kept[2]) >= tonumber(at) then
  return false
end
redis.call('HINCRBY', key, 'attempt', 1)
redis.call('HSETNX', key, 'started_at', ARGV[6])
redis.call('HSET', key, 'lease_owner', worker, 'lease_until', lease)
redis.call('ZADD', ARGV[1]..'leases', lease, ARGV[2])
return redis.call('HGETALL', key)
"""

# ARGV six to a batch: run, attempt, session, first, last, lines
APPEND = (
    _OWNS
    + _KEEP
    + """
local refused = {}
for i = 2, #ARGV, 6 do
  if owns(ARGV[1], ARGV[i], ARGV[i + 1]) then
    keep(ARGV[1], ARGV[i + 2], ARGV[i], ARGV[i + 3], ARGV[i + 4], ARGV[i + 5])
  else
    refused[#refused + 1] = ARGV[i]
  end
end
return refused
"""
)

# ARGV run, attempt, session, status, ended, first, last, lines, answer, content, message status,
# decision for the undecided, bytes, user, then the run's further fields
CLOSE = (
    _OWNS
    + _KEEP
    + TOUCH_FUNCTION
    + GROW_FUNCTION
    + """
local P, run, attempt, sid, status, ended = unpack(ARGV, 1, 6)
local first, last, lines, answer, content, told, decision = unpack(ARGV, 7, 13)
local key = P..'run:'..run
if not owns(P, run, attempt) then
  local kept = redis.call('HMGET', key, 'attempt', 'status', 'ended_at')
  return kept[1] == attempt and kept[2] == status and kept[3] == ended and 1 or 0
end
keep(P, sid, run, first, last, lines)
redis.call('HSET', key, 'status', status, 'ended_at', ended, unpack(ARGV, 16))
redis.call('HDEL', key, 'lease_owner', 'lease_until')
redis.call('ZREM', P..'leases', run)
redis.call('HDEL', P..'session:'..sid, 'active_run')
if redis.call('EXISTS', P..'message:'..answer) == 1 then
  redis.call('HSET', P..'message:'..answer, 'content', content, 'status', told)
end
for _, request in ipairs(redis.call('HKEYS', P..'approvals:'..run)) do
  redis.call('HSETNX', P..'decisions:'..run, request, decision)
end
grow(P, sid, ARGV[15], ARGV[14])
touch(P, sid, ended)
return 1
"""
)

# ARGV run, attempt, status, then the approvals to keep, id and request in turn
SET_STATUS = (
    _OWNS
    + """
local P, run, attempt, status = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
if not owns(P, run, attempt) then return 0 end
if redis.call('HGET', P..'run:'..run, 'status') == 'queued' then return 0 end
redis.call('HSET', P..'run:'..run, 'status', status)
for i = 5, #ARGV, 2 do
  redis.call('HSETNX', P..'approvals:'..run, ARGV[i], ARGV[i + 1])
end
return 1
"""
)

REQUEST_CANCEL = """
local key = ARGV[1]..'run:'..ARGV[2]
local status = redis.call('HGET', key, 'status')
if status == 'queued' or status == 'running' or status == 'waiting' then
  redis.call('HSET', key, 'cancel_requested', 1)
end
"""

# ARGV worker, lease end, then the runs; an ended run has no lease
RENEW = """
local P, worker, lease = ARGV[1], ARGV[2], ARGV[3]
local held = {}
for i = 4, #ARGV do
  local key = P..'run:'..ARGV[i]
  if redis.call('HGET', key, 'lease_owner') == worker then
    redis.call('HSET', key, 'lease_until', lease)
    redis.call('ZADD', P..'leases', lease, ARGV[i])
    held[#held + 1] = ARGV[i]
    held[#held + 1] = redis.call('HGET', key, 'cancel_requested') or ''
  end
end
return held
"""

# ARGV highest score, worker whose runs are left out
LEASED = """
local found = {}
for _, run in ipairs(redis.call('ZRANGEBYSCORE', ARGV[1]..'leases', '-inf', ARGV[2])) do
  if redis.call('HGET', ARGV[1]..'run:'..run, 'lease_owner') ~= ARGV[3] then
    found[#found + 1] = redis.call('HGETALL', ARGV[1]..'run:'..run)
  end
end
return found
"""

FIND = """
local run = ARGV[1]..'run:'..ARGV[2]
local sid = redis.call('HGET', run, 'session_id')
if not sid or redis.call('HEXISTS', ARGV[1]..'session:'..sid, 'deleted_at') == 1 then return {} end
return redis.call('HGETALL', run)
"""

# ARGV session, '=' and client message id
BY_CLIENT = """
local run = redis.call('HGET', ARGV[1]..'clients:'..ARGV[2], ARGV[3])
return run and redis.call('HGETALL', ARGV[1]..'run:'..run) or {}
"""

# ARGV how many at most; a run that is gone, or no longer queued, leaves the list
QUEUED = """
local found = {}
for _, run in ipairs(redis.call('LRANGE', ARGV[1]..'queued', 0, ARGV[2] - 1)) do
  local key = ARGV[1]..'run:'..run
  if redis.call('HGET', key, 'status') == 'queued' then
    found[#found + 1] = redis.call('HGETALL', key)
  else
    redis.call('LREM', ARGV[1]..'queued', 1, run)
  end
end
return found
"""

ACTIVE_RUN = """
local run = redis.call('HGET', ARGV[1]..'session:'..ARGV[2], 'active_run')
return run and redis.call('HGETALL', ARGV[1]..'run:'..run)
"""

# assistant and status of each active run: each has a lease, be it over, or is queued
HAND_OVER = (
    _OWNS
    + """
local P, run, attempt, input, agent = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]
if not owns(P, run, attempt) then return 0 end
redis.call('HSET', P..'run:'..run, 'input', input, 'answered_by', agent)
return 1
"""
)

_UNENDED = """
local function unended(P)
  local found = redis.call('ZRANGE', P..'leases', 0, -1)
  for _, run in ipairs(redis.call('LRANGE', P..'queued', 0, -1)) do found[#found + 1] = run end
  return found
end
"""

ACTIVE_OF_USER = (
    _OWNS
    + _UNENDED
    + """
local found, P = {}, ARGV[1]
for _, run in ipairs(unended(P)) do
  local kept = redis.call('HMGET', P..'run:'..run, 'user_id', 'status')
  if kept[1] == ARGV[2] and ACTIVE[kept[2]] then
    found[#found + 1] = redis.call('HGETALL', P..'run:'..run)
  end
end
return found
"""
)

ACTIVE_AGENTS = (
    _OWNS
    + _UNENDED
    + """
local found, P = {}, ARGV[1]
for _, run in ipairs(unended(P)) do
  local kept = redis.call('HMGET', P..'run:'..run, 'assistant_id', 'status', 'answered_by')
  if kept[1] and ACTIVE[kept[2]] then
    found[#found + 1] = kept[3] or kept[1]
    found[#found + 1] = kept[2]
  end
end
return found
"""
)

LAST_SEQS = """
local found = {}
for i = 2, #ARGV do
  local of = redis.call('HMGET', ARGV[1]..'session:'..ARGV[i], 'user_id', 'deleted_at', 'last_seq')
  found[#found + 1] = of[1] and not of[2] and (of[3] or '0') or ''
end
return found
"""

READ_RUN = """
local kept = redis.call('HMGET', ARGV[1]..'run:'..ARGV[2], 'session_id', 'first_seq', 'last_seq')
if not kept[2] then return {} end
return redis.call('ZRANGEBYSCORE', ARGV[1]..'events:'..kept[1], kept[2], kept[3])
"""

APPROVALS = """
return {
  redis.call('HGETALL', ARGV[1]..'approvals:'..ARGV[2]),
  redis.call('HGETALL', ARGV[1]..'decisions:'..ARGV[2])
}
"""

# ARGV run, request, decision
DECIDE = """
local P, run, request = ARGV[1], ARGV[2], ARGV[3]
local asked = redis.call('HGET', P..'approvals:'..run, request)
if not asked then return false end
redis.call('HSETNX', P..'decisions:'..run, request, ARGV[4])
return {asked, redis.call('HGET', P..'decisions:'..run, request)}
"""
