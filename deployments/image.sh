#!/bin/sh
# Build the image and check it and the composition, where Docker answers and the base image can be had; otherwise one
# line says why not. IMAGE and BASE name other images.
set -eu
cd "$(dirname "$0")/.."
image=${IMAGE:-releasegate}
base=${BASE:-docker.io/library/debian:12-slim}

skipped() {
    echo "image: not built, $1"
    exit 0
}

docker info >/dev/null 2>&1 || skipped "no Docker answers on this machine"
docker image inspect "$base" >/dev/null 2>&1 || docker pull --quiet "$base" >/dev/null 2>&1 ||
    skipped "the base image $base cannot be fetched"
docker build --file deployments/Dockerfile --tag "$image" --build-arg BASE="$base" \
    --build-arg REVISION="$(git rev-parse HEAD 2>/dev/null || echo unknown)" .
docker run --rm --read-only --tmpfs /tmp "$image" releasegate doctor --workspace /tmp/none
RELEASEGATE_IMAGE=$image LEDGER_PASSWORD=none PREFECT_PASSWORD=none INBOX_FOLDER=/tmp \
    docker compose --file deployments/compose.yaml config --quiet
echo "image: built as $image"
