-- wrk script. MODE: fresh (a new key for each request), replay (1,000 finished keys), plain (no key).
local mode = os.getenv("MODE") or "fresh"
local run = os.getenv("RUN") or "0"
local count = 0
local body = '{"amount":1200,"currency":"eur","source":"tok_visa"}'

function request()
  count = count + 1
  local headers = { ["Content-Type"] = "application/json", ["X-Api-Key"] = "bench" }
  if mode == "fresh" then headers["Idempotency-Key"] = run .. "-" .. count end
  if mode == "replay" then headers["Idempotency-Key"] = "replay-" .. (count % 1000) end
  return wrk.format("POST", mode == "plain" and "/plain" or "/v1/charges", headers, body)
end

function done(summary, latency)
  local failed = summary.errors.connect + summary.errors.read + summary.errors.write +
    summary.errors.timeout + summary.errors.status
  io.write(string.format("FIGURES %.1f %.3f %.3f %d\n",
    summary.requests / (summary.duration / 1e6), latency:percentile(50) / 1000,
    latency:percentile(99) / 1000, failed))
end
