#!/bin/sh
# sharp.sh: installs the npm image library that make bench compares with, once,
# into the user's cache folder, and prints that.
set -eu

cache=${XDG_CACHE_HOME:-$HOME/.cache}/visions/sharp-1
if [ ! -f "$cache/done" ]; then
  for tool in node npm; do
    command -v "$tool" >/dev/null || {
      echo "sharp.sh: $tool is missing; install Node.js (apt-get install nodejs npm)" >&2
      exit 1
    }
  done
  rm -rf "$cache"
  mkdir -p "$cache"
  cd "$cache"
  npm init -y >/dev/null
  npm install --no-audit --no-fund --loglevel=error sharp@0.34.5 >/dev/null
  node -e 'require("sharp")'
  touch done
fi
echo "$cache"
