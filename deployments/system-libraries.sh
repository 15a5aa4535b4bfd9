#!/bin/sh
# See to what the operating system must provide: Python's venv, Pango for the PDF reports, and a font.
#   sh deployments/system-libraries.sh PYTHON
# Present: silence. Absent: installed with apt-get, dnf or brew where rights allow. Otherwise one line says what to
# install; without venv or Pango the script then fails, without a font it warns.
set -eu
python=$1

has_venv() { "$python" -c 'import ensurepip, venv' 2>/dev/null; }

# Without HarfBuzz's subsetting library fonts are embedded more slowly, so it is asked for with Pango but not required.
has_pango() {
    "$python" - "$@" 2>/dev/null <<'PY'
import ctypes
import sys

needed = [
    ("libpango-1.0.so.0", "libpango-1.0.dylib", "libpango-1.0.0.dylib"),
    ("libpangoft2-1.0.so.0", "libpangoft2-1.0.dylib", "libpangoft2-1.0.0.dylib"),
    ("libharfbuzz.so.0", "libharfbuzz.0.dylib"),
]
if "with-subsetting" in sys.argv:
    needed.append(("libharfbuzz-subset.so.0", "libharfbuzz-subset.0.dylib"))
for names in needed:
    for name in names:
        try:
            ctypes.CDLL(name)
            break
        except OSError:
            continue
    else:
        raise SystemExit(1)
PY
}

has_font() {
    if command -v fc-list >/dev/null 2>&1; then
        [ -n "$(fc-list 2>/dev/null | head -n 1)" ]
    else
        [ -n "$(find /usr/share/fonts /usr/local/share/fonts /System/Library/Fonts "${HOME:-/}/.fonts" \
            -name '*.[to]t[fc]' 2>/dev/null | head -n 1)" ]
    fi
}

if command -v apt-get >/dev/null 2>&1; then
    manager=apt-get venv=python3-venv
    pango='libpango-1.0-0 libpangoft2-1.0-0 libharfbuzz-subset0' font=fonts-dejavu-core
elif command -v dnf >/dev/null 2>&1; then
    manager=dnf venv=python3 pango=pango font=dejavu-sans-fonts
elif command -v brew >/dev/null 2>&1; then
    manager=brew venv=python pango=pango font=font-dejavu
else
    manager='' venv='python3-venv' pango='Pango (libpango-1.0, libpangoft2-1.0, libharfbuzz)' font='DejaVu fonts'
fi

missing() {
    has_venv || printf '%s ' "$venv"
    has_pango with-subsetting || printf '%s ' "$pango"
    has_font || printf '%s ' "$font"
}

install_packages() {
    if [ "$manager" = brew ] || [ "$(id -u)" = 0 ]; then
        as=''
    elif command -v sudo >/dev/null 2>&1 && sudo -n true 2>/dev/null; then
        as='sudo -n'
    else
        return 1
    fi
    echo "installing with $manager: $*" >&2
    case $manager in
    apt-get)
        quiet='env DEBIAN_FRONTEND=noninteractive apt-get -qq'
        $as $quiet install -y --no-install-recommends "$@" >/dev/null 2>&1 ||
            { $as $quiet update >/dev/null && $as $quiet install -y --no-install-recommends "$@" >/dev/null; }
        ;;
    dnf) $as dnf install -y -q "$@" >/dev/null ;;
    brew) brew install -q "$@" >/dev/null ;;
    esac
}

packages=$(missing)
[ -n "$packages" ] || exit 0
if [ -n "$manager" ]; then
    # shellcheck disable=SC2086 - a list of package names
    install_packages $packages </dev/null || true
fi
packages=$(missing)
[ -n "$packages" ] || exit 0
echo "missing on this system: please install ${packages% }${manager:+ (as root: $manager install ${packages% })}, then repeat" >&2
has_venv && has_pango
