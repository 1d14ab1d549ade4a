-- The requests of `cargo xtask bench`, for wrk. Arguments: the operation, the API key, a file with an id or a token in each line, all
-- of the same length, and a number that is unique in the run.
--
-- It shares its cores with the service, so it does little: a request is a concatenation, and draws are cut out of one string. wrk copies
-- every response into Lua if there is a function `response`, so only the operation that needs it has one.

local list, width, count
local sent = 0

local function one()
  local start = (math.random(count) - 1) * (width + 1)
  return list:sub(start + 1, start + width)
end

-- A unique text, always of the same length.
local function fresh(number)
  sent = sent + 1
  return string.format("%06d%08d", number, sent)
end

-- A request whose body is `before`, a text of a fixed length, and `after`. Its path may end differently each time.
local function post(head, path, before, length, after)
  local top = "POST " .. path
  local middle = " HTTP/1.1\r\n" .. head .. "Content-Type: application/json\r\nContent-Length: "
    .. (#before + length + #after) .. "\r\n\r\n" .. before
  return top, middle, after
end

local operations = {}

local function get(head, path)
  local top, tail = "GET " .. path, " HTTP/1.1\r\n" .. head .. "\r\n"
  return function() return top .. one() .. tail end
end

function operations.empty(head)
  local whole = "GET /empty HTTP/1.1\r\n" .. head .. "\r\n"
  return function() return whole end
end

function operations.select(head) return get(head, "/select/") end

function operations.user_get(head) return get(head, "/v1/auth/users/") end

function operations.events_page(head) return get(head, "/v1/events?limit=1000&after=") end

function operations.session_verify(head)
  local top, middle, after = post(head, "/v1/auth/sessions/verify", '{"session_token":"', width, '"}')
  local before = top .. middle
  return function() return before .. one() .. after end
end

function operations.sign_message(head, number)
  local top, middle, after = post(head, "/v1/wallets/", '{"message":"message ', 14, '"}')
  middle = "/sign_message" .. middle
  return function() return top .. one() .. middle .. fresh(number) .. after end
end

-- Each line of the list is a wallet, a space and a session of its owner.
function operations.sign_message_in_session(head, number)
  local split = list:find(" ", 1, true)
  return function()
    local line = one()
    local session = "Vestry-Session: " .. line:sub(split + 1) .. "\r\n"
    local top, middle, after = post(head .. session, "/v1/wallets/", '{"message":"message ', 14, '"}')
    return top .. line:sub(1, split - 1) .. "/sign_message" .. middle .. fresh(number) .. after
  end
end

function operations.user_create(head, number)
  local top, middle, after = post(head, "/v1/auth/users/create", '{"email":"new', 14, '@bench.example"}')
  local before = top .. middle
  return function() return before .. fresh(number) .. after end
end

function operations.password_verify(head)
  local top, middle, after = post(head, "/v1/auth/passwords/verify", '{"user_id":"', width,
    '","password":"correct horse battery staple","session_expires_in":60}')
  local before = top .. middle
  return function() return before .. one() .. after end
end

-- Half of the requests send a code to a new address, half verify one that was sent: the id of an address that an answer gives is
-- kept for whichever connection asks next.
function operations.code(head, number)
  local to_verify = {}
  local top, middle, after = post(head, "/v1/auth/otps/email/login_or_create", '{"email":"ok+', 14, '@vestry.test"}')
  local send = top .. middle
  local verify_top, verify_end = "POST /v1/auth/otps/verify HTTP/1.1\r\n" .. head
    .. "Content-Type: application/json\r\nContent-Length: ", '","otp":"000000","session_expires_in":60}'
  local verify_body = '{"method_id":"'
  function response(status, headers, body)
    local address = body:find('"user_created"', 1, true) and body:match('"email_id":"(email_%w+)"')
    if address and not body:find('"session_token"', 1, true) then to_verify[#to_verify + 1] = address end
  end
  return function()
    local address = table.remove(to_verify)
    if address then
      return verify_top .. (#verify_body + #address + #verify_end) .. "\r\n\r\n" .. verify_body .. address .. verify_end
    end
    return send .. fresh(number) .. after
  end
end

-- The same of better-auth (`xtask/bench/peers/better_auth.mjs`), whose list has cookies.

function operations.better_auth_session(head)
  local top = "GET /api/auth/get-session HTTP/1.1\r\n" .. head .. "Cookie: better-auth.session_token="
  return function() return top .. one() .. "\r\n\r\n" end
end

local function sign_in(head, path)
  local top, middle, after = post(head, path, '{"email":"password', 2,
    '@bench.example","password":"correct horse battery staple"}')
  local before = top .. middle
  return function() return before .. string.format("%02d", math.random(64) - 1) .. after end
end

function operations.better_auth_password(head) return sign_in(head, "/api/auth/sign-in/email") end

function operations.better_auth_create(head, number)
  local top, middle, after = post(head, "/create", '{"email":"new', 14, '@bench.example"}')
  local before = top .. middle
  return function() return before .. fresh(number) .. after end
end

-- Its response to the sending of a code does not contain the address, so its server returns a header.
function operations.better_auth_code(head, number)
  local to_verify = {}
  local path = "/api/auth/email-otp/send-verification-otp"
  local top, middle, after = post(head, path, '{"email":"code', 14, '@bench.example","type":"sign-in"}')
  local send = top .. middle
  local verify_top, verify_middle, verify_after = post(head, "/api/auth/sign-in/email-otp", '{"email":"code', 14,
    '@bench.example","otp":"000000"}')
  local verify = verify_top .. verify_middle
  function response(status, headers, body)
    local address = headers["x-load"]
    if address then to_verify[#to_verify + 1] = address end
  end
  return function()
    local address = table.remove(to_verify)
    if address then return verify .. address .. verify_after end
    address = fresh(number)
    return send:gsub("\r\n", "\r\nX-Load: " .. address .. "\r\n", 1) .. address .. after
  end
end

-- The same of django-allauth (`xtask/bench/peers/allauth`), whose list has tokens of sessions.

function operations.allauth_session(head)
  local top = "GET /_allauth/app/v1/auth/session HTTP/1.1\r\n" .. head .. "X-Session-Token: "
  return function() return top .. one() .. "\r\n\r\n" end
end

function operations.allauth_password(head) return sign_in(head, "/_allauth/app/v1/auth/login") end

operations.allauth_create = operations.better_auth_create

-- A sign-up sends a code, which signs the user in.
function operations.allauth_code(head, number)
  local to_verify = {}
  local top, middle, after = post(head, "/_allauth/app/v1/auth/signup", '{"email":"code', 14, '@bench.example"}')
  local send = top .. middle
  local verify = "POST /_allauth/app/v1/auth/email/verify HTTP/1.1\r\n" .. head
    .. "Content-Type: application/json\r\nContent-Length: 16\r\nX-Session-Token: "
  function response(status, headers, body)
    local token = status == 202 and body:match('"session_token": "(%w+)"')
    if token then to_verify[#to_verify + 1] = token end
  end
  return function()
    local token = table.remove(to_verify)
    if token then return verify .. token .. '\r\n\r\n{"key":"000000"}' end
    return send .. fresh(number) .. after
  end
end

function init(arguments)
  local operation, key, number = arguments[1], arguments[2], tonumber(arguments[4])
  local file = io.open(arguments[3])
  list = file:read("*a")
  file:close()
  width = list:find("\n", 1, true) - 1
  count = #list / (width + 1)
  math.randomseed(number)
  local head = "Host: " .. wrk.host .. ":" .. wrk.port .. "\r\nAuthorization: Bearer " .. key .. "\r\n"
  request = operations[operation](head, number)
end
