-- The requests of `cargo xtask bench`, for wrk. Arguments: the operation, and a file of `name=value` lines.
-- wrk calls `request` before it sends and `response` after it received; all connections share one script, so what an
-- answer gives (the id of an address) is queued for whichever connection asks next.

local operation, chain, key, run
local sessions, users = {}, {}
-- By the type of the wallet: ids, and bodies of sign_transaction.
local wallets, transactions = {}, {}
local sent = 0
local to_verify = {}

function init(arguments)
  operation = arguments[1]
  for line in io.lines(arguments[2]) do
    local name, value = line:match("^(%w+)=(.*)$")
    if name == "key" then key = value end
    if name == "run" then run = value end
    if name == "session" then sessions[#sessions + 1] = value end
    if name == "user" then users[#users + 1] = value end
    local kind, wallet_type, made = line:match("^(%w+)%.(%w+)=(.*)$")
    local list = kind == "wallet" and wallets or kind == "transaction" and transactions
    if list then
      list[wallet_type] = list[wallet_type] or {}
      table.insert(list[wallet_type], made)
    end
  end
  operation, chain = operation:match("^([^.]+)%.?(%w*)$")
  wrk.headers["Content-Type"] = "application/json"
  if key then wrk.headers["Authorization"] = "Bearer " .. key end
end

local function one_of(list)
  return list[sent % #list + 1]
end

local requests = {
  empty = function() return wrk.format("GET", "/empty") end,
  select = function() return wrk.format("GET", "/select") end,
  session_verify = function()
    return wrk.format("POST", "/v1/auth/sessions/verify", nil, '{"session_token":"' .. one_of(sessions) .. '"}')
  end,
  user_get = function() return wrk.format("GET", "/v1/auth/users/" .. one_of(users)) end,
  user_create = function()
    return wrk.format("POST", "/v1/auth/users/create", nil, '{"email":"' .. run .. sent .. '@bench.example"}')
  end,
  sign_message = function()
    return wrk.format("POST", "/v1/wallets/" .. one_of(wallets[chain]) .. "/sign_message", nil,
      '{"message":"message ' .. sent .. '"}')
  end,
  -- Drawn anew for each: what a service remembers of the last wallets is of use for few of many.
  sign_drawn = function()
    local list = wallets[chain]
    return wrk.format("POST", "/v1/wallets/" .. list[math.random(#list)] .. "/sign_message", nil,
      '{"message":"message ' .. sent .. '"}')
  end,
  sign_transaction = function()
    return wrk.format("POST", "/v1/wallets/" .. one_of(wallets[chain]) .. "/sign_transaction", nil,
      one_of(transactions[chain]))
  end,
  -- Half of the requests send a code to a new address, half verify one that was sent.
  code = function()
    local address = table.remove(to_verify)
    if address then
      return wrk.format("POST", "/v1/auth/otps/verify", nil,
        '{"method_id":"' .. address .. '","otp":"000000","session_expires_in":60}')
    end
    return wrk.format("POST", "/v1/auth/otps/email/login_or_create", nil,
      '{"email":"ok+' .. run .. sent .. '@vestry.test"}')
  end,
}

function request()
  sent = sent + 1
  return requests[operation]()
end

function response(status, headers, body)
  if operation == "code" then
    local address = body:match('"email_id":"(email_%w+)","status"') or body:match('"user_created"') and body:match('"email_id":"(email_%w+)"')
    if address then to_verify[#to_verify + 1] = address end
  end
end
