# shellcheck shell=bash
# Builds the image and checks its properties.

make_image() {
    local arguments=(--build-arg "REVISION=$(git rev-parse HEAD 2>/dev/null || echo unknown)" --build-arg "TESTS=${TESTS:-false}"
        --build-arg "VERSION=$(sed -n 's/.*current = "\(.*\)"/\1/p' Sources/System/Version.swift)")
    if [ -n "${PREBUILT:-}" ]; then
        Docker/collect-files "$PREBUILT" .build/image || fail "the image's files cannot be collected from this machine"
        arguments+=(--build-arg BINARY=prebuilt)
    fi
    build "${arguments[@]}" "$@" -f Docker/Dockerfile . || fail "the image cannot be built"
}
program_of() {
    local container
    container=$(engine create "$1")
    engine cp "$container:/usr/bin/sluice" "$scratch/program" && engine rm "$container" >/dev/null
    sha256sum "$scratch/program" | cut -d ' ' -f 1
}

if [ -z "${IMAGE:-}" ]; then
    [ -n "${PREBUILT:-}" ] || bases
    make_image -t "$name"
    if [ "${REPRODUCE:-false}" = true ]; then
        make_image --no-cache -t "$name-again"
        [ "$(program_of "$name")" = "$(program_of "$name-again")" ] || fail "two builds of one commit gave different programs"
        echo "test-image: two builds gave the same program, $(program_of "$name")"
    fi
fi

of_image() { engine image inspect --format "$1" "$image"; }
size=$(of_image '{{.Size}}')
[ "$size" -le $((60 << 20)) ] || fail "the image has $((size >> 20)) MiB, more than 60"
[ "$(of_image '{{.Config.User}}')" = 65532:65532 ] || fail "it runs as '$(of_image '{{.Config.User}}')'"
[ "$(of_image '{{.Config.StopSignal}}')" = SIGTERM ] || fail "it is stopped with '$(of_image '{{.Config.StopSignal}}')'"
of_image '{{json .Config.Volumes}}' | grep -q '"/var/lib/sluice"' || fail "the queue is no volume"
of_image '{{json .Config.Labels}}' | grep -q '"org.opencontainers.image.licenses":"Apache-2.0"' || fail "there are no labels"
# Docker and podman report the health check in different places.
[ -n "${ARCHIVE:-}" ] || engine image inspect "$image" | tr -d ' \n' | grep -q '"CMD","/usr/bin/sluice","health"' || fail "there is no health check"
if engine run --rm "${limits[@]}" --network host --entrypoint /bin/sh "$image" -c true >/dev/null 2>&1; then fail "it has a shell"; fi
