#!/bin/sh
# packages.sh: installs the system packages that the tests use and that are
# missing, with apt-get where it may; else it says what to install. A package is
# taken for installed when what it is needed for is there.
set -eu

missing=
need() { # need TEST PACKAGE: TEST is a command that succeeds when it is there
  eval "$1" >/dev/null 2>&1 || missing="$missing $2"
}
has_language() { tesseract --list-langs 2>/dev/null | grep -qx "$1"; }

need 'command -v tesseract' tesseract-ocr
need 'has_language deu' tesseract-ocr-deu
need 'has_language spa' tesseract-ocr-spa

[ -n "$missing" ] || exit 0
apt=apt-get
if [ "$(id -u)" != 0 ]; then
  apt="sudo -n apt-get"
fi
if command -v apt-get >/dev/null && { $apt install -y -q $missing >/dev/null 2>&1 || { $apt update -q >/dev/null && $apt install -y -q $missing >/dev/null; }; }; then
  exit 0
fi
echo "packages.sh: please install:$missing" >&2
exit 1
