-- The routes of a Memcached's proxy, which is memcached too:
--   memcached -o proxy_config=proxy.lua,proxy_arg=<file of nodes>
--
-- The file of nodes has a line "<zone> <host> <port>" for each node, in order: a new one is added at the end, and the last one
-- is removed first. There is one zone so far, "-". The file is read again every 2 s: a file that cannot be used is reported on
-- standard error, and the nodes stay those of the last good one.
--
-- A key belongs to one node. While that does not answer, other nodes stand in for it: what they store then expires within
-- STAND_IN_TTL, so that an old value does not come back later. When no node answers, a read is a miss and a write is not stored,
-- as with an empty cache; clients see no error.

local STAND_INS    = 2  -- nodes that are asked in place of one
local STAND_IN_TTL = 60 -- seconds, as mcrouter's failover_exptime
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
local function parse(text)
  local nodes = {}
  for line in text:gmatch("[^\n]+") do
    local host, port = line:match("^%- (%S+) (%d+)$")
    if not host then error("'" .. line .. "' is not '- <host> <port>'", 0) end
    if host:match("%.svc$") then host = host .. "." .. cluster_domain() .. "." end
    nodes[#nodes + 1] = { label = host .. ":" .. port, host = host, port = port }
  end
  if #nodes == 0 then error("it has no nodes", 0) end
  return nodes
end

-- The first pool has the nodes in their order, each further one those of the one before it rotated by one: since all distribute
-- keys alike, a key meets another node in each.
local function pools_of(nodes)
  local pools = {}
  for r = 0, math.min(STAND_INS, #nodes - 1) do
    local backends = {}
    for i = 1, #nodes do backends[i] = mcp.backend(nodes[(i - 1 + r) % #nodes + 1]) end
    pools[r + 1] = mcp.pool(backends)
  end
  return pools
end

function mcp_config_pools()
  mcp.backend_connect_timeout(CONNECT)
  mcp.backend_read_timeout(READ)
  mcp.backend_retry_waittime(RETRY)
  mcp.backend_failure_limit(FAILURES)
  mcp.tcp_keepalive(true)
  mcp.add_stat(1, "stand_in")   -- requests that another node answered
  mcp.add_stat(2, "unanswered") -- requests that no node answered

  nodes_seen = contents(mcp.start_arg)
  local ok, nodes = pcall(parse, nodes_seen or "")
  if ok then
    nodes_used = nodes_seen
  else
    io.stderr:write("proxy: ", mcp.start_arg, " cannot be used: ", nodes, "\n")
    if not nodes_used then error(nodes, 0) end
    nodes = parse(nodes_used)
  end
  mcp.register_cron("nodes", { every = 2, func = function()
    local text = contents(mcp.start_arg)
    if text and text ~= nodes_seen then mcp.schedule_config_reload() end
  end })
  return pools_of(nodes)
end

-- Worker threads call mcp_config_routes.

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

local function route(context, handles)
  local stat = mcp.stat
  local nothing, silence = context:response_new(), context:response_new()
  local miss = mcp.res_mutator_new({ t = "resnull", idx = 1 })
  return function(request)
    local response = context:enqueue_and_wait(request, handles[1])
    if is_answer(response) then return response end
    local again = for_stand_in(request)
    for i = 2, #handles do
      response = context:enqueue_and_wait(again, handles[i])
      if is_answer(response) then
        stat(1, 1)
        return response
      end
    end
    stat(2, 1)
    if is_quiet(request) then return silence end
    miss(nothing, request)
    return nothing
  end
end

function mcp_config_routes(pools)
  local routes = mcp.funcgen_new()
  local handles = {}
  for i, pool in ipairs(pools) do handles[i] = routes:new_handle(pool) end
  routes:ready({ n = "cache", a = handles, u = 2, f = route }) -- u: the responses that route makes
  mcp.attach(mcp.CMD_ANY_STORAGE, routes)
end
