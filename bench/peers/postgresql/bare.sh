#!/bin/sh
# The planned switch by hand: the commands that are needed and nothing else. bare.sh SOURCE-DATA SOURCE-PORT TARGET-PORT
set -eu
psql -qAt -h 127.0.0.1 -p "$2" -U admin -d postgres -c checkpoint
pg_ctl -D "$1" -m fast -w stop >/dev/null
[ "$(psql -qAt -h 127.0.0.1 -p "$3" -U admin -d postgres -c 'select pg_promote(true, 30)')" = t ]
touch "$1/standby.signal"
pg_ctl -D "$1" -l "$1.log" -w start >/dev/null
