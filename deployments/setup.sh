#!/bin/sh
# Make .venv with every package of requirements.lock, by hash, and the `releasegate` command in it.
# Needs Python 3.11 or later. Packages come from wherever pip is set to look; the lock file names no host.
set -eu
cd "$(dirname "$0")/.."
bin=.venv/bin

suits() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; }

python=''
for candidate in python3 python3.13 python3.12 python3.11; do
    if suits "$candidate"; then
        python=$candidate
        break
    fi
done
if [ -z "$python" ]; then
    found=$(python3 --version 2>/dev/null || echo "no python3")
    echo "releasegate needs Python 3.11 or later; found $found. Install one as python3 and repeat." >&2
    exit 1
fi

sh deployments/system-libraries.sh "$python"
if ! { suits $bin/python && $bin/python -m pip --version >/dev/null 2>&1; }; then
    "$python" -m venv --clear .venv
fi
$bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r deployments/requirements-bootstrap.txt
settings=$($bin/python deployments/pip_settings.py)
eval "$settings"
export VIRTUAL_ENV="$PWD/.venv" UV_PYTHON_DOWNLOADS=never
# Bytecode now: the first run of every process would otherwise spend seconds on it, each time where it may not be kept.
$bin/uv pip sync --quiet --require-hashes --compile-bytecode requirements.lock
$bin/uv pip install --quiet --no-deps --no-build-isolation --editable .
$bin/python -m compileall -q releasegate flows reports tasks
# The orchestrator's empty database, so that no first run waits for its migrations; also shows that the server starts.
$bin/python -c 'from flows.pipeline.embedded_prefect import make_template_database; make_template_database()'
echo "ready: $($bin/python --version) in .venv; try .venv/bin/releasegate --help"
