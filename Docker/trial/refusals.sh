# shellcheck shell=bash
# Checks the messages of failed starts. A running gateway holds the port for one of them.

# refuses CODE PATTERN [OPTION…] -- ARGUMENT…
refuses() {
    local code=$1 pattern=$2 got=0 options=()
    shift 2
    while [ "$1" != -- ]; do options+=("$1") && shift; done
    shift
    engine run --rm --no-healthcheck "${limits[@]}" "${contained[@]}" "${options[@]}" "$image" "$@" >"$scratch/said" 2>&1 || got=$?
    [ "$got" -eq "$code" ] && grep -q "$pattern" "$scratch/said" && return
    cat "$scratch/said" >&2
    fail "it ended with $got instead of $code, or did not say '$pattern'"
}
listen=(--listen 127.0.0.1:0 --admin-listen 127.0.0.1:0)
install -d -m 0755 "$scratch/of-root"
echo 'listn: 127.0.0.1:0' >"$scratch/wrong.yaml"
refuses 1 'mount it writable' --volume "$name:/var/lib/sluice:ro" -- serve --sandbox "${listen[@]}"
refuses 1 'give it to the user that runs sluice' --volume "$scratch/of-root:/var/lib/sluice" -- serve --sandbox "${listen[@]}"
refuses 2 'listn: unknown key' --volume "$scratch/wrong.yaml:/etc/sluice.yaml:ro" -- serve --config /etc/sluice.yaml
refuses 1 'the port is taken' --volume "$name-other:/var/lib/sluice" -- serve --sandbox --listen "127.0.0.1:$devices" --admin-listen 127.0.0.1:0
