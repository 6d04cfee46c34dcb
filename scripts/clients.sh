#!/bin/sh
# clients.sh: installs the npm clients that the tests run, and a Node.js new
# enough for them, once, into the user's cache folder, and prints that.
set -eu

cache=${XDG_CACHE_HOME:-$HOME/.cache}/visions/clients-2
if [ ! -f "$cache/done" ]; then
  for tool in node npm; do
    command -v "$tool" >/dev/null || {
      echo "clients.sh: $tool is missing; install Node.js (apt-get install nodejs npm)" >&2
      exit 1
    }
  done
  rm -rf "$cache"
  mkdir -p "$cache"
  cd "$cache"
  npm init -y >/dev/null
  npm install --no-audit --no-fund --loglevel=error --ignore-scripts node@22.23.3 \
    @modelcontextprotocol/sdk@1.32.2 @modelcontextprotocol/client@2.3.1 \
    @modelcontextprotocol/inspector@2.12.0 \
    @modelcontextprotocol/conformance@0.2.0-alpha.11 conformance-0.1@npm:@modelcontextprotocol/conformance@0.1.16 >/dev/null
  # The node package fetches its binary package in its install script.
  (cd node_modules/node && node installArchSpecificPackage.js >/dev/null)
  test -x node_modules/node/bin/node
  touch done
fi
echo "$cache"
