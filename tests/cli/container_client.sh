#!/bin/sh
# Stands in for docker, nerdctl, ctr or crun in PATH, because no test can count on their daemons. It keeps beside itself:
#
#   calls             one line a call, each argument in <>
#   environment, cdi  its variables, and the CDI files that were there when it ran a container
#   containers/NAME   is there while a container is
#
# CLIENT_CDI is where its daemon looks for CDI files, CLIENT_SAYS where it says that it does, if not there. With
# CLIENT_STAYS a container does not end, and outlives its client. With CLIENT_DEAF nothing can be removed; nerdctl then says
# that it was, as the real one does.
here=$(dirname "$0")
program=$(basename "$0")
{
  printf '%s' "$program"
  printf ' <%s>' "$@"
  echo
} >> "$here/calls"

for argument; do
  case $argument in tessera-*) container=$here/containers/$argument ;; esac
done

case " $* " in
*" --version "*)
  echo "$program version v2.4.0"
  exit 0
  ;;
" info "*)
  echo "[\"${CLIENT_SAYS:-$CLIENT_CDI}\"]"
  exit 0
  ;;
" tasks list "* | " ps "*)
  ls "$here/containers"
  exit 0
  ;;
*" kill "*)
  [ -z "$CLIENT_DEAF" ]
  exit
  ;;
*" rm "* | *" delete "*)
  [ -z "$CLIENT_DEAF" ] || [ "$program" != nerdctl ] || exit 0
  [ -z "$CLIENT_DEAF" ] || exit 1
  [ "$program $1" != "ctr tasks" ] || [ -e "$container" ] || exit 1
  rm -f "$container"
  exit 0
  ;;
esac

env > "$here/environment"
cp -r "$CLIENT_CDI" "$here/cdi"
mkdir -p "$here/containers"
: > "$container"
if [ -z "$CLIENT_STAYS" ]; then
  rm "$container"
  exit 7
fi
sleep 1000 &
trap 'kill $!; exit 0' TERM
echo here
wait
