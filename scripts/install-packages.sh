#!/bin/sh
# Installs the Debian packages that are missing: scripts/install-packages.sh run|test|arm64
#   run    what building and running smoe needs
#   test   that, and what the tests and checks need
#   arm64  what building and testing for 64-bit ARM needs beside it; `arm64-libraries` prints, with
#          commas, the libraries to unpack for it
set -eu

RUN_PACKAGES="
  g++ cmake ninja-build glslc
  libboost-dev libcli11-dev libedit-dev libexpected-dev libfmt-dev libpcre2-dev libsimdjson-dev libspdlog-dev
  libtomlplusplus-dev liburing-dev libutf8proc-dev libvulkan-dev libxxhash-dev"
TEST_PACKAGES="
  chromium clang-14 clang-format-14 clang-tidy-14 libclang-rt-14-dev
  fiu-utils fonts-dejavu-core libbenchmark-dev libgmock-dev libgtest-dev librapidcheck-dev nlohmann-json3-dev
  mesa-vulkan-drivers procps python3-jinja2 spin spirv-cross spirv-tools tmux vulkan-validationlayers zstd"
ARM64_PACKAGES="g++-aarch64-linux-gnu mmdebstrap qemu-user"
ARM64_LIBRARIES="libboost-dev,libc6-dev,libcli11-dev,libedit-dev,libexpected-dev,libfmt-dev,libgmock-dev,libgtest-dev,\
libpcre2-dev,librapidcheck-dev,libsimdjson-dev,libspdlog-dev,libstdc++-12-dev,libtomlplusplus-dev,liburing-dev,\
libutf8proc-dev,libxxhash-dev,nlohmann-json3-dev"

say() { printf '%s\n' "$*" >&2; }

case "${1:-}" in
  run) wanted=$RUN_PACKAGES ;;
  test)
    wanted="$RUN_PACKAGES $TEST_PACKAGES"
    # npm may come from another package than Debian's.
    command -v npm >/dev/null 2>&1 || wanted="$wanted nodejs npm"
    ;;
  arm64) wanted="$RUN_PACKAGES $ARM64_PACKAGES" ;;
  arm64-libraries)
    printf '%s\n' "$ARM64_LIBRARIES"
    exit 0
    ;;
  *)
    say "usage: $0 run|test|arm64|arm64-libraries"
    exit 2
    ;;
esac

missing=""
for package in $wanted; do
  state=$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null || true)
  [ "$state" = installed ] || missing="$missing $package"
done
[ -n "$missing" ] || exit 0

if [ "$(id -u)" -eq 0 ]; then
  as_root=""
elif command -v sudo >/dev/null 2>&1; then
  as_root="sudo"
else
  say "error: these packages are missing:$missing"
  say "Install them as root, or install sudo, and run this again."
  exit 1
fi

# The log of apt is shown only when it fails: it is long, and seldom what one wants to read.
log=$(mktemp)
trap 'rm -f "$log"' EXIT
apt() {
  $as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -y \
    -o DPkg::Lock::Timeout=300 -o Acquire::Retries=3 "$@" >"$log" 2>&1 || {
    cat "$log" >&2
    say "error: apt-get $1 failed"
    exit 1
  }
}

say "installing:$missing"
apt update
# shellcheck disable=SC2086  # the list is meant to be split
apt install --no-install-recommends $missing
