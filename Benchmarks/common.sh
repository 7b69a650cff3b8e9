# Shared by the benchmarks: a scratch directory, a sink, a gateway, and functions that read its figures.
connections=${BENCH_CONNECTIONS:-32}
bench=.build/release/sluice-bench
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

# start_sink [PORT]: uses a free port by default.
start_sink() {
    : >"$scratch/sink"
    "$bench" sink "${1:-0}" >"$scratch/sink" &
    sink=$!
    children+=("$sink")
    for _ in $(seq 50); do
        sink_port=$(cat "$scratch/sink")
        [ -n "$sink_port" ] && return
        sleep 0.1
    done
    echo "bench: the sink did not start" >&2
    exit 1
}

# destination NAME: its settings.
destination() {
    echo "  $1: { endpoint: \"http://localhost:$sink_port\", project: $1, logstore: \"*\", region: bench }"
}

# The settings of a gateway with an empty queue. The destinations come last: more may follow.
configure() {
    rm -rf "$scratch/data"
    cat >"$scratch/sluice.yaml" <<EOF
listen: 127.0.0.1:0
admin: { listen: "127.0.0.1:0", token: "$token" }
data_dir: $scratch/data
credentials:
  default: { from: static, access_key_id: bench-id, access_key_secret: bench-secret }
EOF
    { echo "destinations:"; destination app; } >>"$scratch/sluice.yaml"
}

# Starts a gateway with an empty queue.
start() {
    configure
    serve
}

# Starts a gateway with the existing queue.
serve() {
    port= admin_port=
    : >"$scratch/gateway.log"
    "$sluice" serve --config "$scratch/sluice.yaml" 2>"$scratch/gateway.log" &
    gateway=$!
    children+=("$gateway")
    for _ in $(seq 1000); do
        read -r port admin_port < <(sed -n 's/.*"sluice is ready".*"devices":"[^"]*:\([0-9]*\)","admin":"[^"]*:\([0-9]*\)".*/\1 \2/p' "$scratch/gateway.log") || true
        [ -n "${admin_port:-}" ] && break
        sleep 0.01
    done
    if [ -z "${admin_port:-}" ]; then
        echo "bench: the gateway did not start:" >&2
        cat "$scratch/gateway.log" >&2
        exit 1
    fi
    # The address for posts.
    url=http://127.0.0.1:$port
}

drained() {
    for _ in $(seq 300); do
        [ "$(metrics | ledger queued)" = 0 ] && return
        sleep 0.2
    done
    echo "bench: the queue is not empty after a minute" >&2
}

