#!/usr/bin/env bash
# Build the trainer's image. Usage: trainer/image/build.sh [base|cpu|cuda]   (see docs/image.md)
#
#   BASE_IMAGE   name@sha256:... of a Debian base with Python 3.11; without it one is made here from Debian's archive
#   TAG          name of the result (default localhost/trainshed/trainer:VERSION-FLAVOUR)
#   OUT          folder for digest, SBOM and base (default build/image)
#   LAYERS       keep a layer for each step and build on those of before; off, nothing is cached
#
# Same sources, same base, same digest: all times are 0, nothing is compiled in parallel, pip takes only hashed wheels.
set -euo pipefail
cd "$(dirname "$0")/../.."

flavour=${1:-cpu}
[[ $flavour == cpu || $flavour == cuda || $flavour == base ]] || { echo "usage: $0 [base|cpu|cuda]" >&2; exit 64; }
for tool in buildah $([[ -n ${BASE_IMAGE:-} ]] || echo mmdebstrap); do
    command -v "$tool" >/dev/null || { echo "$0: $tool is not installed (Debian package $tool)" >&2; exit 69; }
done
version=$(sed -n 's/^__version__ = "\(.*\)"/\1/p' trainer/__init__.py)
tag=${TAG:-localhost/trainshed/trainer:$version-$flavour}
out=${OUT:-build/image}
mkdir -p "$out"

make_base() {
    local archive=$out/base.tar
    if [[ ! -f $archive ]]; then
        rm -rf "$archive"
        SOURCE_DATE_EPOCH=0 mmdebstrap --quiet --format=tar --variant=minbase \
            --include=ca-certificates,python3,python3-venv bookworm "$archive.part"
        mv "$archive.part" "$archive"
    fi
    if ! buildah inspect --type image localhost/trainshed/base:bookworm >/dev/null 2>&1; then
        printf 'FROM scratch\nADD base.tar /\n' >"$out/Dockerfile.base"
        buildah bud --isolation chroot --timestamp 0 --quiet -f "$out/Dockerfile.base" \
            -t localhost/trainshed/base:bookworm "$out" >/dev/null
    fi
}

digest_of() { buildah inspect --type image --format '{{.FromImageDigest}}' "$1"; }

if [[ -z ${BASE_IMAGE:-} ]]; then
    make_base
    BASE_IMAGE=localhost/trainshed/base:bookworm
    base_digest=$(digest_of "$BASE_IMAGE")
    [[ $flavour != base ]] || { echo "$BASE_IMAGE $base_digest"; exit 0; }
elif [[ $BASE_IMAGE == *@sha256:* ]]; then
    base_digest=${BASE_IMAGE##*@}
else
    echo "$0: BASE_IMAGE=$BASE_IMAGE is not pinned; write name@sha256:..." >&2
    exit 78
fi

options=(--isolation chroot --timestamp 0 --format oci --target "$flavour" --ignorefile trainer/image/ignore
    --build-arg "BASE_IMAGE=$BASE_IMAGE" --build-arg "FLAVOUR=$flavour" --build-arg "VERSION=$version"
    --build-arg "REVISION=${REVISION:-$(git rev-parse HEAD 2>/dev/null || echo unknown)}"
    --build-arg "SOURCE=${SOURCE:-unknown}"
    --build-arg "BASE_NAME=${BASE_IMAGE%@*}" --build-arg "BASE_DIGEST=$base_digest")
[[ -z ${SSL_CERT_FILE:-} ]] || options+=(--secret "id=ca,src=$SSL_CERT_FILE")
for name in PIP_INDEX_URL PIP_EXTRA_INDEX_URL; do
    [[ -z ${!name:-} ]] || options+=(--build-arg "$name=${!name}")
done
if [[ -d ${PIP_FIND_LINKS:-} ]]; then
    options+=(--volume "$PIP_FIND_LINKS:/wheels:ro" --build-arg PIP_FIND_LINKS=/wheels)
elif [[ -n ${PIP_FIND_LINKS:-} ]]; then
    options+=(--build-arg "PIP_FIND_LINKS=$PIP_FIND_LINKS")
fi
[[ -z ${LAYERS:-} ]] || options+=(--layers)

buildah bud "${options[@]}" -f trainer/image/Dockerfile -t "$tag" .

container=$(buildah from --pull-never "$tag")
trap 'buildah rm "$container" >/dev/null' EXIT
# Not `buildah run -- cat`: on a busy machine it was seen to lose the output and leave with 0.
cp "$(buildah mount "$container")/opt/trainshed/sbom.cdx.json" "$out/sbom-$flavour.cdx.json"
digest_of "$tag" >"$out/digest-$flavour.txt"
echo "$tag $(cat "$out/digest-$flavour.txt")"
