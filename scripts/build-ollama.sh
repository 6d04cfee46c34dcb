#!/bin/sh
# build-ollama.sh: builds the Ollama server that the tests run, once, into the
# user's cache folder, and prints its path. It does nothing when it is there.
#
# The module zip of Ollama leaves out the C++ headers that its source tree
# vendors. Two come from Debian packages, unpacked and not installed; the third,
# needed for audio only, is a stand-in that refuses everything.
set -eu

version=v0.17.4
cache=${XDG_CACHE_HOME:-$HOME/.cache}/visions/ollama-$version
if [ -n "${VISIONS_OLLAMA_BIN:-}" ]; then
  echo "$VISIONS_OLLAMA_BIN"
  exit 0
fi
if [ -x "$cache/ollama" ]; then
  echo "$cache/ollama"
  exit 0
fi

for tool in go gcc g++ apt-get dpkg-deb; do
  command -v "$tool" >/dev/null || {
    echo "build-ollama.sh: $tool is missing; install it, or set VISIONS_OLLAMA_BIN to an Ollama $version binary" >&2
    exit 1
  }
done

mkdir -p "$cache"
work=$(mktemp -d "$cache/build.XXXXXX")
trap 'rm -rf "$work"' EXIT
cd "$work"
if ! apt-get download nlohmann-json3-dev libstb-dev >/dev/null 2>&1; then
  apt-get update >/dev/null
  apt-get download nlohmann-json3-dev libstb-dev >/dev/null
fi
for package in ./*.deb; do
  dpkg-deb -x "$package" .
done

mkdir -p stub/miniaudio
cat >stub/miniaudio/miniaudio.h <<'HEADER'
/* Stand-in for miniaudio: every attempt to decode sound fails. */
#pragma once
#include <stddef.h>
#include <stdint.h>
typedef uint64_t ma_uint64;
typedef uint32_t ma_uint32;
typedef int ma_result;
enum { MA_SUCCESS = 0, MA_NOT_IMPLEMENTED = -29 };
typedef enum { ma_format_unknown = 0, ma_format_f32 = 5 } ma_format;
typedef struct { int unused; } ma_decoder_config;
typedef struct { int unused; } ma_decoder;
static inline ma_decoder_config ma_decoder_config_init(ma_format, ma_uint32, ma_uint32) { return {0}; }
static inline ma_result ma_decoder_init_memory(const void *, size_t, const ma_decoder_config *, ma_decoder *) { return MA_NOT_IMPLEMENTED; }
static inline ma_result ma_decoder_get_length_in_pcm_frames(ma_decoder *, ma_uint64 *) { return MA_NOT_IMPLEMENTED; }
static inline ma_result ma_decoder_read_pcm_frames(ma_decoder *, void *, ma_uint64, ma_uint64 *) { return MA_NOT_IMPLEMENTED; }
static inline ma_result ma_decoder_uninit(ma_decoder *) { return MA_SUCCESS; }
HEADER

echo "building the Ollama server $version for the tests (minutes, once)" >&2
GOFLAGS= GOBIN=$work/bin CGO_ENABLED=1 CGO_CFLAGS=-O2 CGO_CXXFLAGS=-O2 \
  CGO_CPPFLAGS="-I$work/usr/include -I$work/stub" \
  go install -p 2 -trimpath -buildvcs=false -ldflags "-s -w" "github.com/ollama/ollama@$version" >&2
mv "$work/bin/ollama" "$cache/ollama"
echo "$cache/ollama"
