#!/bin/sh
# Packs the extension, installs it in a real VS Code and drives that: test/run.sh [--if-installed]
#
#   CHECKMATE             the program; target/debug/checkmate of this repository without it
#   CHECKMATE_VSCODE      the folder that keeps the VS Code; ~/.cache/checkmate-vscode without it. It is filled once.
#   CHECKMATE_PANEL       the panel's bundle; panel/dist of this repository without it
#   SHOTS, KEEP=1         where screenshots go; keep the scratch world
#
# --if-installed says why and ends well where the VS Code, Chromium or the panel is not there, instead of installing it.
set -eu
cd "$(dirname "$0")/.."
CACHE=${CHECKMATE_VSCODE:-${XDG_CACHE_HOME:-$HOME/.cache}/checkmate-vscode}
CHECKMATE=${CHECKMATE:-$(cd ../.. && pwd)/target/debug/checkmate}
CHROMIUM=${CHROMIUM:-$(command -v chromium || command -v chromium-browser || echo /usr/bin/chromium)}
panel=${CHECKMATE_PANEL:-../../panel/dist}

missing() {
    if [ "${mode:-}" = --if-installed ]; then
        echo "The extension was not driven in a real VS Code: $1"
        exit 0
    fi
}
mode=${1:-}
wanted=$(sed -n 's/^code_server=//p' test/install.sh)
if [ "$(cat "$CACHE/installed" 2>/dev/null)" != "$wanted" ]; then
    missing "code-server $wanted is not in $CACHE. \`editors/vscode/test/run.sh\` installs it."
    sh test/install.sh "$CACHE"
fi
[ -x "$CHROMIUM" ] || {
    missing "there is no Chromium at $CHROMIUM. Install Debian's: apt-get install --no-install-recommends chromium"
    echo "There is no Chromium at $CHROMIUM. Install it, or name one in CHROMIUM." >&2
    exit 1
}
[ -f "$panel/panel.js" ] || missing "there is no panel in $panel. Build it first: panel/README.md."
[ -d node_modules ] || {
    missing "its packages are not installed. Run \`npm ci\` in editors/vscode."
    npm ci --no-audit --no-fund --loglevel=error
}
[ -x "$CHECKMATE" ] || {
    echo "There is no program at $CHECKMATE. Build it, or name it in CHECKMATE." >&2
    exit 1
}
VSIX=$(pwd)/checkmate.vsix
node package.mjs "$VSIX"
export CACHE CHECKMATE CHROMIUM VSIX
exec node test/drive.mjs
