# Shared by the benchmarks: a scratch directory, a sink, a gateway, and functions that read its figures.
connections=${BENCH_CONNECTIONS:-32}
bench=${SLUICE_BENCH:-.build/release/sluice-bench}
sluice=${BENCH_SLUICE:-.build/release/sluice}
results=bench-results/$(date -u +%Y%m%dT%H%M%SZ)
mkdir -p "$results"
scratch=$(mktemp -d)
children=()
cleanup() {
    for child in "${children[@]}"; do kill "$child" 2>/dev/null || true; done
    wait 2>/dev/null || true
    rm -rf "$scratch"
}
trap cleanup EXIT

token=$(head -c 24 /dev/urandom | od -An -tx1 | tr -d ' \n')
ticks=$(getconf CLK_TCK)

metrics() { curl -s -H "Authorization: Bearer $token" "http://127.0.0.1:$admin_port/metrics"; }
ledger() { awk -v name="sluice_logs_$1" '$1 ~ "^" name "(_total)?[{]" { sum += $2 } END { printf "%.0f\n", sum }'; }
processor() { awk -v hz="$ticks" '{ sub(/.*\) /, ""); print ($12 + $13) / hz }' "/proc/$gateway/stat"; }
now() { date +%s.%N; }
calc() { awk "BEGIN { printf \"$1\", $2 }"; }

machine() { echo "machine: $(nproc) x $(sed -n 's/model name[^:]*: //p' /proc/cpuinfo | head -1), $(uname -sr)"; }

# await SECONDS COMMAND...: waits until the command succeeds, and fails when it takes longer. It looks every $pause seconds.
await() {
    local end=$((SECONDS + $1))
    shift
    until "$@"; do
        [ "$SECONDS" -lt "$end" ] || return 1
        sleep "${pause:-0.2}"
    done
}

# start_sink [PORT]: uses a free port by default.
start_sink() {
    : >"$scratch/sink"
    "$bench" sink "${1:-0}" >"$scratch/sink" &
    sink=$!
    children+=("$sink")
    pause=0.05 await 5 test -s "$scratch/sink" || { echo "bench: the sink did not start" >&2; exit 1; }
    sink_port=$(cat "$scratch/sink")
}

# destination NAME [PORT [MORE]]: its settings.
destination() {
    echo "  $1: { endpoint: \"http://localhost:${2:-$sink_port}\", project: $1, logstore: \"*\", region: bench, compress: ${BENCH_COMPRESS:-lz4}${3:-} }"
}

# configure [COMMAND...]: the settings of a gateway with an empty queue. The command prints more destinations.
configure() {
    rm -rf "$scratch/data"
    {
        echo "listen: 127.0.0.1:0"
        echo "admin: { listen: \"127.0.0.1:0\", token: \"$token\" }"
        echo "data_dir: $scratch/data"
        echo "credentials: { default: { from: static, access_key_id: bench-id, access_key_secret: bench-secret } }"
        echo "destinations:"
        destination app
        "$@"
    } >"$scratch/sluice.yaml"
}

# Starts a gateway on the queue that is there.
serve() {
    : >"$scratch/gateway.log"
    "$sluice" serve --config "$scratch/sluice.yaml" 2>"$scratch/gateway.log" &
    gateway=$!
    children+=("$gateway")
    pause=0.01 await 20 grep -q '"sluice is ready".*}$' "$scratch/gateway.log" || {
        echo "bench: the gateway did not start:" >&2
        cat "$scratch/gateway.log" >&2
        exit 1
    }
    local ready='s/.*"sluice is ready".*"devices":"[^"]*:\([0-9]*\)","admin":"[^"]*:\([0-9]*\)".*/\1 \2/p'
    read -r port admin_port < <(sed -n "$ready" "$scratch/gateway.log")
    # The address for posts.
    url=http://127.0.0.1:$port
}

# At most so many logs wait.
queued_at_most() { [ "$(metrics | ledger queued)" -le "$1" ]; }
