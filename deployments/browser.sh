#!/bin/sh
# See to a Chromium for the tests of the reviewer's page. The page itself needs none.
# Present: silence. Absent: installed with apt-get or dnf where rights allow; otherwise one line says what to install.
set -eu

found() {
    for name in chromium chromium-browser google-chrome google-chrome-stable; do
        command -v "$name" >/dev/null 2>&1 && return 0
    done
    return 1
}

found && exit 0
if [ "$(id -u)" = 0 ]; then
    as=''
elif command -v sudo >/dev/null 2>&1 && sudo -n true 2>/dev/null; then
    as='sudo -n'
else
    as='no'
fi
if [ "$as" != no ] && command -v apt-get >/dev/null 2>&1; then
    echo "installing with apt-get: chromium" >&2
    quiet='env DEBIAN_FRONTEND=noninteractive apt-get -qq'
    $as $quiet install -y --no-install-recommends chromium </dev/null >/dev/null 2>&1 ||
        { $as $quiet update </dev/null >/dev/null && $as $quiet install -y --no-install-recommends chromium </dev/null; } \
            >/dev/null || true
elif [ "$as" != no ] && command -v dnf >/dev/null 2>&1; then
    echo "installing with dnf: chromium" >&2
    $as dnf install -y -q chromium </dev/null >/dev/null || true
fi
found && exit 0
echo "no Chromium: tests of the reviewer's page in a browser are skipped; install chromium to run them" >&2
exit 1
