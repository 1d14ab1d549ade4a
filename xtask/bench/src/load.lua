-- The requests of `cargo xtask bench --operations` and `--signing`, for wrk. Arguments: the operation, and a file of `name=value`
-- lines.

local operation, chain, key
-- By the type of the wallet: ids, and bodies of sign_transaction.
local wallets, transactions = {}, {}
local sent = 0

function init(arguments)
  operation = arguments[1]
  for line in io.lines(arguments[2]) do
    local name, value = line:match("^(%w+)=(.*)$")
    if name == "key" then key = value end
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
  sign_message = function()
    return wrk.format("POST", "/v1/wallets/" .. one_of(wallets[chain]) .. "/sign_message", nil,
      '{"message":"message ' .. sent .. '"}')
  end,
  -- Drawn for each request, so that a cache of the last wallets helps only with few wallets.
  sign_drawn = function()
    local list = wallets[chain]
    return wrk.format("POST", "/v1/wallets/" .. list[math.random(#list)] .. "/sign_message", nil,
      '{"message":"message ' .. sent .. '"}')
  end,
  sign_transaction = function()
    return wrk.format("POST", "/v1/wallets/" .. one_of(wallets[chain]) .. "/sign_transaction", nil,
      one_of(transactions[chain]))
  end,
}

function request()
  sent = sent + 1
  return requests[operation]()
end
