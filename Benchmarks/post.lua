-- Posts the bodies of a directory in turn. Arguments: DIRECTORY [DELAY_MS]
local requests, next_request, delay_ms = {}, 0, 0

function init(arguments)
    delay_ms = tonumber(arguments[2] or "0")
    for number = 0, 63 do
        local file = assert(io.open(arguments[1] .. "/" .. number .. ".json", "rb"))
        local body = file:read("*a")
        file:close()
        requests[number] = wrk.format("POST", "/logs/bench", { ["Content-Type"] = "application/json" }, body)
    end
    next_request = math.random(0, 63)
end

function request()
    next_request = (next_request + 1) % 64
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
