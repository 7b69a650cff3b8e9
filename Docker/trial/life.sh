# shellcheck shell=bash
# A gateway must take and forward logs, survive kill -9, and drain when it is stopped.

key=(--env ALIBABA_CLOUD_ACCESS_KEY_ID=trial --env ALIBABA_CLOUD_ACCESS_KEY_SECRET=trial-secret)
start sandbox "${key[@]}" -- sandbox --listen 127.0.0.1:0
sandbox=http://127.0.0.1:$(port sandbox address)

# gateway NAME [PORT]: the health check needs a known admin port.
gateway() {
    local check=()
    [ $# -eq 1 ] || check=(checked)
    start "$1" "${check[@]}" "${key[@]}" --volume "$name:/var/lib/sluice" --env "SLUICE_ENDPOINT=http://localhost:${sandbox##*:}" \
        --env SLUICE_REGION=sandbox --env SLUICE_PROJECT=demo --env 'SLUICE_LOGSTORE=*' --env SLUICE_LISTEN=127.0.0.1:0 \
        --env "SLUICE_ADMIN_LISTEN=127.0.0.1:${2:-0}" -- serve
    admin=$(port "$1" admin)
    devices=$(port "$1" devices)
}
posted=0
post() {
    local logs='' status
    for _ in $(seq "$1"); do posted=$((posted + 1)) && logs+="{\"n\":\"$posted\"}"; done
    status=$(curl -s -o /dev/null -w '%{http_code}' -d "$logs" "http://127.0.0.1:$devices/logs/trial")
    [ "$status" = 200 ] || fail "logs were answered with $status"
}
# Waits until each acknowledged log is in the sandbox.
all_arrived() {
    local got
    for _ in $(seq 60); do
        got=$(curl -s "$sandbox/logs?logstore=trial" | sed -n 's/.*"n":"\([0-9]*\)".*/\1/p' | sort -u | wc -l)
        [ "$got" -eq "$posted" ] && return
        sleep 0.5
    done
    fail "$got of $posted logs arrived $1"
}
fault() { curl -s -o /dev/null -d "$1" "$sandbox/faults"; }

# The start is measured, and not how long the disk takes for what making the image has left to write.
sync
gateway first "$(python3 -c 'import socket; s = socket.create_server(("127.0.0.1", 0)); print(s.getsockname()[1])')"
process=$(engine inspect --format '{{.State.Pid}}' "$name-first")
# Only possible if the engine runs on this machine and not in a virtual machine.
if [ "$(cat "/proc/$process/comm" 2>/dev/null)" = sluice ]; then
    engine logs "$name-first" 2>&1 | python3 Docker/trial/process.py "$process" || fail "see above"
fi
post 50
all_arrived "at first"
healthy "$name-first" || fail "the image's health check fails"

engine exec "$name-first" /usr/bin/sluice backup - >"$scratch/copy.db" || fail "its queue cannot be copied"
[ "$(head -c 15 "$scratch/copy.db")" = 'SQLite format 3' ] || fail "the copy of its queue is no SQLite database"

fault '{"reset":true}'
post 50
engine kill --signal KILL "$name-first" >/dev/null
# Waits until the process and its lock on the queue are gone.
engine wait "$name-first" >/dev/null
gateway second
curl -s -o /dev/null -X DELETE "$sandbox/faults"
all_arrived "after kill -9 and a start on the same volume"

fault '{"latency_ms":1500}'
post 50
before=$SECONDS
engine stop --time 30 "$name-second" >/dev/null
[ $((SECONDS - before)) -lt 20 ] || fail "the stop took $((SECONDS - before)) s"
code=$(engine inspect --format '{{.State.ExitCode}}' "$name-second")
[ "$code" -eq 0 ] || fail "after the stop the exit code was $code"
all_arrived "when it was stopped"
gateway third
