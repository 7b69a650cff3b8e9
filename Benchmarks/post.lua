-- Posts what a directory has, in turn: whole requests (0.request, 1.request and so on), or 64 JSON bodies.
-- Arguments: DIRECTORY [DELAY_MS]
local requests, count, next_request, delay_ms = {}, 0, 0, 0

local function read(name)
    local file = io.open(name, "rb")
    if not file then return nil end
    local text = file:read("*a")
    file:close()
    return text
end

function init(arguments)
    delay_ms = tonumber(arguments[2] or "0")
    repeat
        local request = read(arguments[1] .. "/" .. count .. ".request")
        local body = not request and read(arguments[1] .. "/" .. count .. ".json")
        if body then
            request = wrk.format("POST", "/logs/bench", { ["Content-Type"] = "application/json" }, body)
        end
        if request then
            requests[count] = request
            count = count + 1
        end
    until not request
    assert(count > 0, "no requests in " .. arguments[1])
    next_request = math.random(0, count - 1)
end

function request()
    next_request = (next_request + 1) % count
    return requests[next_request]
end

-- wrk does not count the delay as latency.
function delay()
    return delay_ms
end

function done(summary, latency)
    io.write(string.format(
        "wrk requests=%d seconds=%.3f errors=%d not_2xx=%d p50_ms=%.2f p99_ms=%.2f max_ms=%.2f\n",
        summary.requests, summary.duration / 1e6,
        summary.errors.connect + summary.errors.read + summary.errors.write + summary.errors.timeout,
        summary.errors.status,
        latency:percentile(50) / 1000, latency:percentile(99) / 1000, latency.max / 1000))
end
