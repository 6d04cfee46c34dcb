#!/bin/sh
# install-from-zip.sh: installs the binary from a module zip of the commit, as
# `go install` does from a proxy, and asks it for its version.
set -eu

cd "$(dirname "$0")/.."
module=github.com/visions-mcp/visions
version=v0.0.1-test.$(git rev-parse --short=12 HEAD)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
proxy=$work/proxy/$module/@v
mkdir -p "$proxy"
git archive --format=zip --prefix="$module@$version/" -o "$proxy/$version.zip" HEAD
git show HEAD:go.mod >"$proxy/$version.mod"
printf '{"Version":"%s","Time":"2026-01-01T00:00:00Z"}\n' "$version" >"$proxy/$version.info"
echo "$version" >"$proxy/list"
GOBIN=$work/bin GONOSUMDB=$module GOPROXY="file://$work/proxy,$(go env GOPROXY)" \
  go install "$module/cmd/visions@$version"
"$work/bin/visions" -version | grep -F "$version"
