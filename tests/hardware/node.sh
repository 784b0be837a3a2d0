# tests/hardware/node.sh: the plugin on this machine's real driver, between stand-ins for API server and kubelet. Sourced.
bin=$PWD/build/release/bin
dir=$(mktemp -d /tmp/hardware.XXXXXX)
plugin=
finish() {
  [ -z "$plugin" ] || kill "$plugin" 2> /dev/null || true
  [ -z "${NODE_PID:-}" ] || kill "$NODE_PID" 2> /dev/null || true
  wait
  rm -rf "$dir"
}
trap finish EXIT

fail() {
  echo "FAILED: $*" >&2
  tail -n 20 "$dir/plugin.log" >&2 2> /dev/null || true
  exit 1
}

# A line for the stand-ins; their answer is in $answer.
ask() {
  printf '%s\n' "$*" >&"${NODE[1]}"
  read -r answer <&"${NODE[0]}"
  case $answer in error*) fail "$*: $answer" ;; esac
}

# start DRIVER_ROOT [FLAG …]: returns when the devices are published.
start() {
  mkdir "$dir/node"
  coproc NODE { exec "$bin/tessera-standin" node --dir "$dir/node" --node-name this-node; }
  read -r answer <&"${NODE[0]}"
  ask flags "$1"
  read -ra flags <<< "$answer"
  "$bin/tessera-kubelet-plugin" "${flags[@]}" "${@:2}" 2> "$dir/plugin.log" &
  plugin=$!
  ask wait
}
