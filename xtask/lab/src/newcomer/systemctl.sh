#!/bin/bash
# Stands in for systemctl where systemd does not run. It runs the command lines of a unit with its user, capabilities, limits, variables
# and credentials. Sandboxes of the file system are not built.
set -euo pipefail

STATE=/run/newcomer
mkdir -p $STATE /run/credentials

unit_file() {
    local directory
    for directory in /etc/systemd/system /lib/systemd/system; do
        if [ -f "$directory/$1" ]; then
            echo "$directory/$1"
            return
        fi
    done
    echo "Unit $1 could not be found." >&2
    exit 5
}

# The values of a key, with continued lines joined.
values() {
    sed -e ':a' -e '/\\$/N; s/\\\n//; ta' "$file" | sed -n "s/^$1=//p"
}

value() {
    values "$1" | tail -n 1
}

has() {
    sed -n "s/^$1=/&/p" "$file" | grep -q .
}

# A command line as the shell reads it: without prefixes, and with systemd's escapes resolved.
readable() {
    sed -e 's/^[-+!@:]*//' -e "s/%i/$instance/g" -e 's/\$\$/$/g' -e 's/%%/%/g' <<< "$1"
}

# Sets a limit of the unit. A container may lack the right to raise it: the log then says so, and `vestry check` warns.
limit() {
    local most
    most=$(value "$2")
    if [ -n "$most" ]; then ulimit "-$1" "${most/infinity/unlimited}" || true; fi
}

# Replaces this process by a command line of the unit.
become() {
    local user words=() assignment source target path directory capability
    user=$(value User)
    limit n LimitNOFILE
    limit l LimitMEMLOCK
    limit c LimitCORE
    if has UMask; then umask "$(value UMask)"; fi
    while read -r path; do
        set -a
        . "${path#-}"
        set +a
    done < <(values EnvironmentFile)
    while read -r assignment; do export "${assignment?}"; done < <(values Environment)
    if has LoadCredential; then
        directory=/run/credentials/$unit
        rm -rf "$directory"
        install --directory --mode=0500 --owner="$user" "$directory"
        while IFS=: read -r target source; do
            install --mode=0400 --owner="$user" "$source" "$directory/$target"
        done < <(values LoadCredential)
        export CREDENTIALS_DIRECTORY=$directory
    fi
    while read -r path; do
        install --directory --mode="$(value StateDirectoryMode)" --owner="$user" "/var/lib/$path"
    done < <(values StateDirectory)
    if [ -n "$user" ]; then
        words=(setpriv --reuid="$user" --regid="$(id -g "$user")" --init-groups)
        if has CapabilityBoundingSet && [ -z "$(value CapabilityBoundingSet)" ]; then words+=(--bounding-set=-all); fi
        capability=$(value AmbientCapabilities)
        capability=${capability#CAP_}
        if [ -n "$capability" ]; then words+=("--inh-caps=+${capability,,}" "--ambient-caps=+${capability,,}"); fi
        if [ "$(value NoNewPrivileges)" = true ]; then words+=(--no-new-privs); fi
        HOME=$(getent passwd "$user" | cut -d: -f6)
        export HOME
    fi
    cd /
    exec "${words[@]}" /bin/bash -c "exec $(readable "$1")"
}

is_running() {
    [ -f "$STATE/$unit.pid" ] && kill -0 "$(cat "$STATE/$unit.pid")" 2> /dev/null
}

start() {
    local line kind
    if is_running; then return; fi
    while read -r line; do (become "$line") < /dev/null >> "/var/log/$unit.log" 2>&1; done < <(values ExecStartPre)
    line=$(value ExecStart)
    kind=$(value Type)
    if [ "$kind" = oneshot ] || [ "$kind" = forking ]; then
        (become "$line") < /dev/null >> "/var/log/$unit.log" 2>&1
    else
        (become "$line") < /dev/null >> "/var/log/$unit.log" 2>&1 &
        echo $! > "$STATE/$unit.pid"
    fi
}

stop() {
    if is_running; then
        kill "$(cat "$STATE/$unit.pid")"
        tail --pid="$(cat "$STATE/$unit.pid")" --follow /dev/null
    fi
    rm -f "$STATE/$unit.pid"
}

act() {
    unit=$2 instance=
    case $unit in
        *.service | *.timer) ;;
        *) unit=$unit.service ;;
    esac
    file=$(unit_file "$unit")
    if [ "$unit" = postgresql.service ]; then
        # It only groups one unit for each cluster, which a generator of systemd makes.
        for directory in /etc/postgresql/*/*; do
            instance=$(basename "$(dirname "$directory")")-$(basename "$directory")
            unit=postgresql@$instance.service
            file=$(unit_file postgresql@.service)
            "$1"
        done
        return
    fi
    # Nothing here waits for the time of a timer.
    case $unit in *.timer) return ;; esac
    "$1"
}

command=$1
shift
now=
if [ "${1:-}" = --now ]; then
    now=yes
    shift
fi
for name in "$@"; do
    case $command in
        start | stop) act "$command" "$name" ;;
        restart)
            act stop "$name"
            act start "$name"
            ;;
        enable) if [ -n "$now" ]; then act start "$name"; else act true "$name"; fi ;;
        *)
            echo "systemctl $command is not known here" >&2
            exit 1
            ;;
    esac
done
case $command in daemon-reload | start | stop | restart | enable) ;; *) exit 1 ;; esac
