# shellcheck shell=bash
# Docker, or podman with buildah, under one name; and containers as the gateway's are to be.

if command -v docker >/dev/null && docker info >/dev/null 2>&1; then
    engine() { docker "$@"; }
    build() { docker build --quiet "$@" >/dev/null; }
    limits=()
    bases() { :; }
elif command -v podman >/dev/null && command -v buildah >/dev/null; then
    # Where cgroups are not a container's own, limits that podman would set make the start fail.
    engine() { podman --runtime runc --cgroup-manager=cgroupfs "$@"; }
    build() { buildah bud --quiet --format docker --isolation chroot --pull-never "$@" >/dev/null; }
    limits=(--pids-limit 0 --ulimit nofile=1024:1024 --ulimit nproc=1000:1000 --log-driver k8s-file)
    bases() { Docker/make-bases; }
else
    fail "neither docker nor podman with buildah is here: Scripts/setup-tests installs the latter"
fi

# start NAME [OPTION…] -- [ARGUMENT…]
contained=(--read-only --cap-drop ALL --security-opt no-new-privileges --network host --no-healthcheck)
start() {
    local container=$name-$1 options=()
    shift
    while [ "$1" != -- ]; do options+=("$1") && shift; done
    shift
    engine run --detach --name "$container" "${limits[@]}" "${contained[@]}" "${options[@]}" "$image" "$@" >/dev/null ||
        fail "$container cannot be started"
    containers+=("$container")
}
# The port that a container's journal has under a name: port CONTAINER NAME
port() {
    local found
    for _ in $(seq 300); do
        found=$(engine logs "$name-$1" 2>&1 | sed -n "s/.*\"$2\":\"[^\"]*:\([0-9]*\)\".*/\1/p" | tail -n 1)
        [ -n "$found" ] && echo "$found" && return
        sleep 0.1
    done
    fail "$1 does not say its port ($2)"
}
