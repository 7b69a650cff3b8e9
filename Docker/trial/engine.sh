# shellcheck shell=bash
# One interface to docker, or to podman with buildah; starts containers with production restrictions.

if command -v docker >/dev/null && docker info >/dev/null 2>&1; then
    engine() { command docker "$@"; }
    build() { docker build --quiet "$@" >/dev/null; }
    limits=()
    bases() { :; }
    checked=(--health-interval 1s)
    healthy() {
        for _ in $(seq 60); do
            [ "$(engine inspect --format '{{.State.Health.Status}}' "$1")" = healthy ] && return
            sleep 0.5
        done
        return 1
    }
elif command -v podman >/dev/null && command -v buildah >/dev/null; then
    # Without a cgroup namespace of its own, a container would fail to start with podman's default limits.
    engine() { podman --runtime runc --cgroup-manager=cgroupfs "$@"; }
    build() { buildah bud --quiet --format docker --isolation chroot --pull-never "$@" >/dev/null; }
    limits=(--pids-limit 0 --ulimit nofile=1024:1024 --ulimit nproc=1000:1000 --log-driver k8s-file)
    bases() { Docker/make-bases; }
    # Runs the image's health check once: podman leaves its repetition to systemd, and complains where there is none.
    # It drops the check of an OCI archive, which has no place for it.
    checked=(${ARCHIVE:+--health-cmd '["/usr/bin/sluice", "health"]'})
    healthy() { engine healthcheck run "$1"; }
else
    fail "this machine has neither docker nor podman with buildah; Scripts/setup-tests installs the latter"
fi

# start NAME [checked] [OPTION…] -- [ARGUMENT…]; with "checked" the image's health check is on.
contained=(--read-only --cap-drop ALL --security-opt no-new-privileges --network host)
start() {
    local container=$name-$1 options=(--no-healthcheck)
    shift
    if [ "$1" = checked ]; then options=("${checked[@]}") && shift; fi
    while [ "$1" != -- ]; do options+=("$1") && shift; done
    shift
    engine run --detach --name "$container" "${limits[@]}" "${contained[@]}" "${options[@]}" "$image" "$@" \
        2> >(grep -v 'systemd connection' >&2) >/dev/null ||
        fail "$container cannot be started"
    containers+=("$container")
}
# port CONTAINER NAME: the port that the container's journal reports under this name
port() {
    local found
    for _ in $(seq 300); do
        found=$(engine logs "$name-$1" 2>&1 | sed -n "s/.*\"$2\":\"[^\"]*:\([0-9]*\)\".*/\1/p" | tail -n 1)
        [ -n "$found" ] && echo "$found" && return
        sleep 0.1
    done
    fail "$1 does not report its port ($2)"
}
