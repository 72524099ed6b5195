-- The routes of a Memcached's proxy, which is memcached too:
--   memcached -o proxy_config=proxy.lua,proxy_arg=<file of nodes>
--
-- The file of nodes has a line "- <host> <port>" for each node, in order: a new one is added at the end, and the last one
-- is removed first. The file is read again every 2 s: a file that cannot be used is reported on
-- standard error, and the nodes stay those of the last good one.
--
-- A key belongs to one node. While that does not answer, other nodes stand in for it: what they store then expires within
-- STAND_IN_TTL, so that an old value does not come back later. When no node answers, a read is a miss and a write is not stored,
-- as with an empty cache; clients see no error. What a node missed meanwhile is deleted from it once it answers again, so that
-- it does not keep old values: each worker thread remembers that of the changes it sent, up to MOST_MISSED.
--
-- Hand-over: where a key has another node than before, that of before is known for a while, from a line
--   old <place> <host> <port> <move> <leave>   another node is at that place, counted from 1, or none any more
--   was <number> <move> <leave>                there was another number of nodes
--   since <number>                             there have been fewer nodes, that number at least; it stays
-- A key that a new node took over may be left on its nodes of before: what is changed is deleted there too, so that it is not found
-- again when there are fewer nodes one day.
-- <move> and <leave> are seconds since 1970, by which all proxies change their ways at the same time:
--   until <move>, while the file reaches the proxies: they use the old node, and what is changed there is deleted from the new one
--   until <leave>:          a read asks the new node and, on a miss, the old one, whose item it copies; a change is made on the old
--                           node, deleted from the new one, and then copied there
--   until <leave> + LEAVING: they use the new node, and delete what they change from the old one
-- A read that begins after a change was confirmed, by any proxy, never finds what was there before it, also while the proxies are a
-- step apart: a change reaches the old node first, and copy stores nothing that has changed there meanwhile.
--
-- Zones: each has proxies and nodes of its own, which hold a whole copy. All proxies have the same zones in the same order:
--   zone <host> <port>   the proxies of another zone, by the port that leads to its nodes only, a listener with the tag "zone"
--   zone here            the nodes in this file
-- A read asks its own zone and, on a miss, the others, whose item it copies for FILL_TTL at most. What sets or deletes an item goes to
-- all zones; what depends on the item that is there is decided by the first zone that answers, and deletes the key from the others. A
-- zone that cannot be reached misses changes; between zones, a copy may undo a change that is made meanwhile, for FILL_TTL at most.

local STAND_INS    = 2  -- nodes that are asked in place of one
local STAND_IN_TTL = 60 -- seconds, as mcrouter's failover_exptime
local MOST_MISSED  = 20000 -- changes in each worker thread; about 100 bytes and a key each
local LEAVING      = 5  -- seconds, by which clocks may differ
local LEASE        = 3  -- seconds, less than LEAVING
local FILL_TTL     = 60 -- seconds
local MONTH        = 30 * 24 * 3600 -- a longer time to live is a date

local CONNECT, READ, RETRY = 0.5, 0.5, 1 -- seconds
local FAILURES = 1 -- in a row, after which a node counts as down: its requests no longer wait for it

-- The configuration thread calls mcp_config_pools at the start and at each reload. Two globals outlive a reload: nodes_seen, the
-- text of the file as it was read last, and nodes_used, that of the last good one.

local function contents(path)
  local file = io.open(path)
  if not file then return nil end
  local text = file:read("a")
  file:close()
  return text
end

local function cluster_domain()
  local domain = (contents("/etc/resolv.conf") or ""):match("search[^\n]* svc%.(%S+)")
  if not domain then error("/etc/resolv.conf has no search domain svc.<domain of the cluster>", 0) end
  return domain
end

-- A host that ends in .svc gets the cluster's domain and a dot, so that it is looked up once and not in every search domain.
local function node_of(host, port)
  if host:match("%.svc$") then host = host .. "." .. cluster_domain() .. "." end
  return { label = host .. ":" .. port, host = host, port = port }
end

-- Each kind of line: what it must look like, and what it says.
local kinds = {
  ["-"] = { "^%- (%S+) (%d+)$", function(list, host, port) table.insert(list.nodes, node_of(host, port)) end },
  old = { "^old (%d+) (%S+) (%d+) (%d+) (%d+)$", function(list, place, host, port, move, leave)
    list.olds[tonumber(place)] = { node = node_of(host, port), move = tonumber(move), leave = tonumber(leave) }
  end },
  was = { "^was (%d+) (%d+) (%d+)$", function(list, number, move, leave)
    list.was = { number = tonumber(number), move = tonumber(move), leave = tonumber(leave) }
  end },
  since = { "^since (%d+)$", function(list, number) list.since = tonumber(number) end },
  zone = { "^zone (%S+) ?(%d*)$", function(list, host, port)
    table.insert(list.zones, port == "" and { is_here = true } or node_of(host, port))
  end },
}

local function parse(text)
  local list = { nodes = {}, olds = {}, zones = {} }
  for line in text:gmatch("[^\n]+") do
    local kind = kinds[line:match("^%S+")] or kinds["-"]
    local words = { line:match(kind[1]) }
    if #words == 0 then error("'" .. line .. "' is not '- <host> <port>'", 0) end
    kind[2](list, table.unpack(words))
  end
  if #list.nodes == 0 then error("it has no nodes", 0) end
  return list
end

-- The list with the pool of each node, which is alone in it: place_of distributes the keys.
local function with_pools(list)
  local function add(node) node.pool = mcp.pool({ mcp.backend({ label = node.label, host = node.host, port = node.port }) }) end
  for _, node in ipairs(list.nodes) do add(node) end
  for _, old in pairs(list.olds) do add(old.node) end
  for _, zone in ipairs(list.zones) do
    if not zone.is_here then add(zone) end
  end
  return list
end

function mcp_config_pools()
  mcp.backend_connect_timeout(CONNECT)
  mcp.backend_read_timeout(READ)
  mcp.backend_retry_waittime(RETRY)
  mcp.backend_failure_limit(FAILURES)
  mcp.tcp_keepalive(true)
  mcp.add_stat(1, "stand_in")   -- requests that another node answered
  mcp.add_stat(2, "unanswered") -- requests that no node answered
  mcp.add_stat(3, "copied")     -- items that were copied to the new node of their key
  mcp.add_stat(4, "other_zone") -- items that were read from another zone
  mcp.add_stat(5, "not_copied") -- reads of a hand-over that copied no item, since a node did not answer
  mcp.add_stat(6, "caught_up")  -- changes that a node had missed, and that were deleted from it since

  nodes_seen = contents(mcp.start_arg)
  local ok, list = pcall(parse, nodes_seen or "")
  if ok then
    nodes_used = nodes_seen
  else
    io.stderr:write("proxy: ", mcp.start_arg, " cannot be used: ", list, "\n")
    if not nodes_used then error(list, 0) end
    list = parse(nodes_used)
  end
  mcp.register_cron("nodes", { every = 2, func = function()
    local text = contents(mcp.start_arg)
    if text and text ~= nodes_seen then mcp.schedule_config_reload() end
  end })
  return with_pools(list)
end

-- Worker threads call mcp_config_routes.

local unpack, floor = string.unpack, math.floor

-- The eight bytes of a key at a time, and then what is left of them, each mixed in as by SplitMix64.
local rests = { "<I1", "<I2", "<I3", "<I4", "<I5", "<I6", "<I7" }
local function hash_of(key)
  local hash, length = #key, #key
  for i = 1, length - 7, 8 do
    hash = (hash ~ unpack("<i8", key, i)) * 0x9E3779B97F4A7C15
    hash = hash ~ (hash >> 29)
  end
  local rest = length & 7
  if rest > 0 then hash = hash ~ unpack(rests[rest], key, length - rest + 1) end
  hash = (hash ~ (hash >> 30)) * 0xBF58476D1CE4E5B9
  hash = (hash ~ (hash >> 27)) * 0x94D049BB133111EB
  return hash ~ (hash >> 31)
end

-- Where a key belongs among a number of nodes, from 1: jump consistent hashing (Lamping and Veach, 2014). With a node more, keys
-- move to that one only. Where since and formers are given, it adds to formers where the key belonged among fewer, at least since.
local function place_of(hash, number, since, formers)
  local place, following = 0, 0
  while following < number do
    if formers and following > 0 and following >= since then formers[#formers + 1] = place + 1 end
    place = following
    hash = hash * 2862933555777941757 + 1
    following = floor((place + 1) * (2147483648.0 / ((hash >> 33) + 1)))
  end
  return place + 1
end

-- Commands of the text protocol by the number of their words without noreply.
local words = {
  [mcp.CMD_SET] = 5, [mcp.CMD_ADD] = 5, [mcp.CMD_REPLACE] = 5, [mcp.CMD_APPEND] = 5, [mcp.CMD_PREPEND] = 5, [mcp.CMD_CAS] = 6,
  [mcp.CMD_INCR] = 3, [mcp.CMD_DECR] = 3, [mcp.CMD_TOUCH] = 3, [mcp.CMD_DELETE] = 2,
}

-- Whether the request asks for no reply where nothing was found or stored: with q, mg does, and the other meta commands do not. Up to
-- 1.6.45, token() returns the key, whichever is asked for, so that noreply is what is no number.
local function is_quiet(request)
  local n = words[request:command()]
  if n then return request:ntokens() > n and request:token_int(request:ntokens()) == nil end
  return request:command() == mcp.CMD_MG and request:has_flag("q")
end

local function is_too_long(ttl)
  return ttl and (ttl == 0 or (ttl > MONTH and ttl - os.time() or ttl) > STAND_IN_TTL)
end

local function store(name)
  return { ttl = 4, line = function(r) return ("%s %s %d %d %d"):format(name, r:key(), r:token_int(3), STAND_IN_TTL, r:token_int(5)) end }
end

-- Commands of the text protocol with a time to live: which of their words it is, and the line with that of a stand-in.
local with_ttl = {
  [mcp.CMD_SET] = store("set"), [mcp.CMD_ADD] = store("add"), [mcp.CMD_REPLACE] = store("replace"),
  [mcp.CMD_CAS] = { ttl = 4, line = function(r) return store("cas").line(r) .. (" %d"):format(r:token_int(6)) end },
  [mcp.CMD_TOUCH] = { ttl = 3, line = function(r) return ("touch %s %d"):format(r:key(), STAND_IN_TTL) end },
  [mcp.CMD_GAT] = { ttl = 2, line = function(r) return ("gat %d %s"):format(STAND_IN_TTL, r:key()) end },
  [mcp.CMD_GATS] = { ttl = 2, line = function(r) return ("gats %d %s"):format(STAND_IN_TTL, r:key()) end },
}
local metas = { [mcp.CMD_MG] = "mg", [mcp.CMD_MS] = "ms", [mcp.CMD_MA] = "ma" }

-- The flags of a meta command for a stand-in, in alphabetical order, and whether their times to live had to be shortened.
local function stand_in_flags(request)
  local flags, changed = {}, false
  local function add(letter, argument) flags[#flags + 1] = letter .. (argument or "") end
  for letter in ("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"):gmatch(".") do
    local has, argument = request:flag_token(letter)
    local is_ttl = letter == "T" or letter == "N"
    if is_ttl and (has and is_too_long(tonumber(argument)) or not has and letter == "T" and request:command() == mcp.CMD_MS) then
      add(letter, STAND_IN_TTL)
      changed = true
    elseif has then
      add(letter, argument)
    end
  end
  return table.concat(flags, " "), changed
end

-- The request for a stand-in. It is made anew: up to 1.6.45, memcached forgets of an edited one that it asks for no reply.
local function for_stand_in(request)
  local text, meta = with_ttl[request:command()], metas[request:command()]
  local line
  if text and is_too_long(request:token_int(text.ttl)) then
    line = text.line(request) .. (is_quiet(request) and " noreply" or "")
  elseif meta then
    local flags, changed = stand_in_flags(request)
    if changed then line = ("%s %s%s %s"):format(meta, request:key(), meta == "ms" and " " .. request:token_int(3) or "", flags) end
  end
  return line and mcp.request(line .. "\r\n", request) or request
end

-- Whether a node answered, also that the client's request is wrong.
local function is_answer(response)
  return response:ok() or response:code() == mcp.MCMC_CODE_CLIENT_ERROR
end

-- Commands that may change the value of an item.
local changes_item = {
  [mcp.CMD_SET] = true, [mcp.CMD_ADD] = true, [mcp.CMD_REPLACE] = true, [mcp.CMD_APPEND] = true, [mcp.CMD_PREPEND] = true,
  [mcp.CMD_CAS] = true, [mcp.CMD_INCR] = true, [mcp.CMD_DECR] = true, [mcp.CMD_DELETE] = true,
  [mcp.CMD_MA] = true, [mcp.CMD_MS] = true, [mcp.CMD_MD] = true,
}
local refusals = { [mcp.MCMC_CODE_EXISTS] = true, [mcp.MCMC_CODE_NOT_FOUND] = true, [mcp.MCMC_CODE_NOT_STORED] = true }

-- Whether the response says that the request changed an item.
local function has_changed(request, response)
  return changes_item[request:command()] and response:ok() and not refusals[response:code()]
end

-- Whether the client takes the request for a change that was made; without a response, no node answered. An item that it deletes is gone
-- to it in any case.
local function is_made(request, response)
  local command = request:command()
  return command == mcp.CMD_DELETE or command == mcp.CMD_MD or response and has_changed(request, response)
end

-- Each node has five handles, of which each serves one request: to delete what it missed, for the client's, to delete a key, and for
-- the two steps of a copy. Requests that are sent together are sent in this order. Without a hand-over a node has the first two only,
-- and the third with since.
local CATCH_UP, ASK, DELETE, FIRST, SECOND = 1, 2, 3, 4, 5

local PREPARE, MOVE, LEAVE = 1, 2, 3
local function step_of(change)
  local now = os.time()
  if now < change.move then return PREPARE end
  if now < change.leave then return MOVE end
  if now < change.leave + LEAVING then return LEAVE end
end

-- The node that the key had before, and the step of its hand-over; nothing without one.
local function old_of(list, hash, place)
  local step = list.was and step_of(list.was)
  if step then
    local before = place_of(hash, list.was.number)
    if before ~= place then
      local old = list.olds[before]
      return old and step_of(old) and old.node or list.nodes[before], step
    end
  end
  local old = list.olds[place]
  if old then return old.node, step_of(old) end
end

local READ, LOOK, CHANGE = 1, 2, 3 -- LOOK: a read without the value, or with the CAS unique, which each node has its own
local function effect_of(request)
  local command = request:command()
  if command == mcp.CMD_GET then return READ end
  if command == mcp.CMD_GETS then return LOOK end
  if command ~= mcp.CMD_MG or request:has_flag("T") or request:has_flag("N") or request:has_flag("R") then return CHANGE end
  return request:has_flag("v") and not request:has_flag("c") and READ or LOOK
end

-- Whether the response has an item that is not the empty one of copy. A value that is empty itself is asked for on the old node.
local function has_item(response) return response:hit() and response:vlen() > 0 end

-- The flag of a meta command that says that the key is in base 64.
local function base64(request)
  local command = request:command()
  local is_meta = metas[command] or command == mcp.CMD_MD
  return is_meta and request:has_flag("b") and " b" or ""
end

-- The value of a response, for a request. Up to 1.6.45, a request that is made with the response itself gets only what the first read
-- had of the value, and spoils what follows on the connection.
local function value_of(response) return response:raw_string():sub(-2 - response:vlen()) end

local function deletion_line(request) return ("md %s%s\r\n"):format(request:key(), base64(request)) end

local function deletion(request) return mcp.request(deletion_line(request)) end

-- By the label of a node, the lines that delete what it missed, each with the number of the change. It outlives a reload.
missed = missed or {}
missed_number, changes = missed_number or 0, changes or 0

local function remember(request, node)
  local lines, line = missed[node.label] or {}, deletion_line(request)
  if not lines[line] then
    if missed_number >= MOST_MISSED then return end
    missed_number = missed_number + 1
  end
  changes = changes + 1
  lines[line], missed[node.label] = changes, lines
end

-- After the node has answered: the change is one that it has not missed any more, unless it missed another one of that key.
local function forget(node, line, change)
  local lines = missed[node.label]
  if not lines or lines[line] ~= change then return end
  lines[line] = nil
  missed_number = missed_number - 1
  if not next(lines) then missed[node.label] = nil end
  mcp.stat(6, 1)
end

-- Forgets what nodes missed that are not in the list any more.
local function forget_others(list)
  local kept = {}
  missed_number = 0
  local function keep(node)
    if kept[node.label] then return end
    kept[node.label] = missed[node.label]
    for _ in pairs(missed[node.label] or {}) do missed_number = missed_number + 1 end
  end
  for _, node in ipairs(list.nodes) do keep(node) end
  for _, old in pairs(list.olds) do keep(old.node) end
  missed = kept
end

-- Asks the node that the key belongs to. Before the request it gets a deletion that it missed, that of this key if there is one.
local function ask_owner(context, request, node)
  local lines, line, change = missed[node.label], nil, nil
  if lines then
    line = deletion_line(request)
    if not lines[line] then line = next(lines) end
    change = lines[line]
    context:enqueue(mcp.request(line), node.handles[CATCH_UP])
  end
  local response = context:enqueue_and_wait(request, node.handles[ASK])
  local deleted = line and context:result(node.handles[CATCH_UP])
  if deleted and is_answer(deleted) then forget(node, line, change) end
  return response
end

local function delete_from(context, request, node)
  if not is_answer(context:enqueue_and_wait(deletion(request), node.handles[DELETE])) then remember(request, node) end
end

-- Copies the item of the request's key from the old node to the new one, unless that has one. It returns whether both answered.
--
-- First an empty item takes the place of the copy, which is stored only if that is still there. So nothing old is stored: a change is
-- made on the old node and then deletes the key from the new one. If it was made after the item was read, the empty item is gone when
-- the copy is to be stored, or else the copy is deleted. Readers take the empty item for a miss; it expires if this proxy ends.
local function copy(context, request, old, new)
  local key, flag = request:key(), base64(request)
  local function ask(node, handle, line, value)
    return context:enqueue_and_wait(mcp.request(line .. flag .. "\r\n", value), node.handles[handle])
  end
  local lease = ask(new, FIRST, ("ms %s 0 ME T%d c"):format(key, LEASE), "\r\n")
  local unique = lease:ok() and (lease:line() or ""):match("c(%d+)")
  if not unique then return is_answer(lease) end
  local item = ask(old, FIRST, ("mg %s t f v"):format(key))
  local line = item:hit() and item:line() or ""
  local ttl, flags = line:match("t(%-?%d+)"), line:match("f(%d+)")
  -- A miss, an item that a client is to replace, or a memcached before 1.6.40.
  if not flags or line:match(" [WXZ]") or not item.raw_string then
    ask(new, SECOND, ("md %s C%s"):format(key, unique))
    return is_answer(item)
  end
  ttl = ttl == "-1" and 0 or math.max(tonumber(ttl), 1)
  local stored = is_answer(ask(new, SECOND, ("ms %s %d F%s T%d C%s"):format(key, item:vlen(), flags, ttl, unique), value_of(item)))
  if stored then mcp.stat(3, 1) end
  return stored
end

-- Deletes the request's key from the nodes where it belonged among fewer, but for old and new, which hand_over knows.
local function delete_from_others(context, request, list, hash, old, new)
  local formers = {}
  place_of(hash, #list.nodes, list.since, formers)
  for _, place in ipairs(formers) do
    local node = list.nodes[place]
    if node.label ~= old.label and node.label ~= new.label then delete_from(context, request, node) end
  end
end

-- What a hand-over makes of a request: the response, or nil where the new node is to be used as if there were no hand-over, whether
-- that was asked in vain, and whether the old node was.
local function hand_over(context, request, old, new, step)
  local effect = effect_of(request)
  local function ask(node) return ask_owner(context, request, node) end
  if step == LEAVE then
    if effect == CHANGE then delete_from(context, request, old) end
    return nil, false
  end
  if step == MOVE and effect == READ then
    local response = ask(new)
    if has_item(response) then return response end
    local before = ask(old)
    if not is_answer(before) or before:hit() and not copy(context, request, old, new) then mcp.stat(5, 1) end
    if is_answer(before) then return before end
    return not response:hit() and is_answer(response) and response or nil, true
  end
  local response = ask(old)
  if not is_answer(response) then return nil, false, true end
  if effect == CHANGE then
    delete_from(context, request, new)
    if step == MOVE then copy(context, request, old, new) end
  end
  return response
end

local function route(context, list)
  local stat = mcp.stat
  local nodes, number = list.nodes, #list.nodes
  local in_hand_over = list.was or next(list.olds)
  local nothing, silence = context:response_new(), context:response_new()
  local empty = mcp.res_mutator_new({ t = "resnull", idx = 1 })
  local function miss_of(request)
    if is_quiet(request) then return silence end
    empty(nothing, request)
    return nothing
  end
  return function(request)
    local hash = hash_of(request:key())
    local place = place_of(hash, number)
    local new, old, step = nodes[place], nil, nil
    if in_hand_over then
      old, step = old_of(list, hash, place)
      if not step or old and old.label == new.label then old = nil end
    end
    local effect = effect_of(request)
    if list.since and effect == CHANGE then delete_from_others(context, request, list, hash, old or new, new) end
    local response, asked, old_silent, hides_empty = nil, false, false, false
    if old then
      response, asked, old_silent = hand_over(context, request, old, new, step)
      if response then return response end
      hides_empty = step == LEAVE and effect == READ
    end
    if not asked then
      response = ask_owner(context, request, new)
      if hides_empty and response:hit() and response:vlen() == 0 then return miss_of(request) end
      if is_answer(response) then
        if old_silent and is_made(request, response) then remember(request, old) end
        return response
      end
    end
    local again, answer = for_stand_in(request), nil
    for i = place, place + math.min(STAND_INS, number - 1) - 1 do
      response = context:enqueue_and_wait(again, nodes[i % number + 1].handles[ASK])
      if is_answer(response) then
        answer = response
        break
      end
    end
    if is_made(request, answer) then
      remember(request, new)
      if old_silent then remember(request, old) end
    end
    stat(answer and 1 or 2, 1)
    return answer or miss_of(request)
  end
end

-- The zones that a request goes to: the own one first, all, or the first that answers.
local NEAR, ALL, DECIDING = 1, 2, 3

local zones_of_text = {
  [mcp.CMD_GET] = NEAR, [mcp.CMD_SET] = ALL, [mcp.CMD_DELETE] = ALL, [mcp.CMD_TOUCH] = ALL, [mcp.CMD_GAT] = ALL,
}
-- The flags of the meta commands that otherwise go to all zones with which these depend on the item that is there, or return its CAS unique.
local deciding_flags = { [mcp.CMD_MG] = "cNR", [mcp.CMD_MS] = "CMIc", [mcp.CMD_MD] = "C" }

local function zones_for(request)
  local command = request:command()
  local flags = deciding_flags[command]
  if not flags then return zones_of_text[command] or DECIDING end
  for flag in flags:gmatch(".") do
    if request:has_flag(flag) then return DECIDING end
  end
  if command ~= mcp.CMD_MG then return ALL end
  if request:has_flag("T") then return ALL end
  return request:has_flag("v") and NEAR or DECIDING
end

local successes = {
  [mcp.MCMC_CODE_STORED] = true, [mcp.MCMC_CODE_DELETED] = true, [mcp.MCMC_CODE_TOUCHED] = true, [mcp.MCMC_CODE_OK] = true,
}

local function zone_route(context, list)
  local zones, here, handles = list.zones, nil, {}
  for i, zone in ipairs(zones) do
    handles[i] = zone.handles[ASK]
    if zone.is_here then here = zone end
  end
  local function ask(request, zone, handle) return context:enqueue_and_wait(request, zone.handles[handle]) end

  -- Copies the item of the request's key from zone, unless this one has it by now.
  local function fill(request, zone)
    local key, flag = request:key(), base64(request)
    local item = ask(mcp.request(("mg %s t f v%s\r\n"):format(key, flag)), zone, SECOND)
    local line = has_item(item) and item:line() or ""
    local ttl, flags = tonumber(line:match("t(%-?%d+)")), line:match("f(%d+)")
    if not ttl or not flags or line:match(" [WXZ]") or not item.raw_string then return end
    if ttl < 0 or ttl > FILL_TTL then ttl = FILL_TTL end
    ask(mcp.request(("ms %s %d ME T%d F%s%s\r\n"):format(key, item:vlen(), math.max(ttl, 1), flags, flag), value_of(item)), here, SECOND)
  end

  local function near(request)
    local response = ask(request, here, ASK)
    if has_item(response) then return response end
    for _, zone in ipairs(zones) do
      local other = zone ~= here and ask(request, zone, ASK)
      if other and has_item(other) then
        mcp.stat(4, 1)
        fill(request, zone)
        return other
      end
    end
    return response
  end

  local function all(request)
    context:enqueue(request, handles)
    context:wait_cond(#handles, mcp.WAIT_ANY)
    local response = context:result(here.handles[ASK])
    for _, handle in ipairs(handles) do
      if successes[response:code()] or has_item(response) then break end
      local other = context:result(handle)
      if successes[other:code()] or has_item(other) then response = other end
    end
    return response
  end

  local function deciding(request)
    local response
    for i, zone in ipairs(zones) do
      response = ask(request, zone, ASK)
      if is_answer(response) then
        if has_changed(request, response) then
          for j, other in ipairs(zones) do
            if j ~= i then ask(deletion(request), other, SECOND) end
          end
        end
        break
      end
    end
    return response
  end

  local ways = { [NEAR] = near, [ALL] = all, [DECIDING] = deciding }
  return function(request) return ways[zones_for(request)](request) end
end

function mcp_config_routes(list)
  forget_others(list)
  local routes = mcp.funcgen_new()
  local last = (list.was or next(list.olds)) and SECOND or list.since and DELETE or ASK
  local function add(node)
    node.handles = {}
    for i = CATCH_UP, last do node.handles[i] = routes:new_handle(node.pool) end
  end
  for _, node in ipairs(list.nodes) do add(node) end
  for _, old in pairs(list.olds) do add(old.node) end
  routes:ready({ n = "cache", a = list, u = 2, f = route }) -- u: the responses that route makes
  mcp.attach(mcp.CMD_ANY_STORAGE, routes, "zone")
  local all = routes
  if #list.zones > 0 then
    all = mcp.funcgen_new()
    for _, zone in ipairs(list.zones) do
      zone.handles = {}
      for _, i in ipairs({ ASK, SECOND }) do zone.handles[i] = all:new_handle(zone.is_here and routes or zone.pool) end
    end
    all:ready({ n = "zones", a = list, f = zone_route })
  end
  mcp.attach(mcp.CMD_ANY_STORAGE, all)
end
