#!/usr/bin/env bash
# Encodes the messages of one protocol version, as a program of that version would send them:
#   make_messages.sh VERSION [PROTO-DIR]
# VERSION/*.txtpb become VERSION/*.bin by the .proto files in PROTO-DIR (default: the tree's; for an older version
# those of a commit that spoke it). Run once, when a version is new: the .bin files represent programs in use.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
version=$1 protos=${2:-$here/../../../proto}
encode() {
  [ -e "$here/$version/$1.txtpb" ] || return 0  # a message of later versions
  protoc -I "$protos" --encode="ringmaster.v1.$2" ringmaster/v1/worker.proto \
    <"$here/$version/$1.txtpb" >"$here/$version/$1.bin"
}
encode hello WorkerMessage
encode status WorkerMessage
encode launch ControllerMessage
for name in roots files probed; do encode "$name" WorkerMessage; done
for name in check_files probe_root; do encode "$name" ControllerMessage; done
