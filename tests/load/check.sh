#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Runs load programs (default: all) for some seconds each: do they get ready or
# say why not, print what tests read, end on SIGTERM, and leave nothing behind?
# usage: tests/load/check.sh BUILD_DIR [PROGRAM...]
set -u
here=$(dirname "$0")
bin=${1:?usage: check.sh BUILD_DIR [PROGRAM...]}
shift
[ $# -gt 0 ] || set -- $(cd "$here" && ls -- *.c | sed 's/\.c$//')
passed=0 failed=0 out=$(mktemp)
LOAD_DIR=$(mktemp -d /var/tmp/load-check.XXXXXX)
export LOAD_DIR
trap 'rm -rf "$out" "$LOAD_DIR"' EXIT

left_behind() {	# $1: the supervisor's pid, gone by now
	ls -d /sys/fs/cgroup/*/load-"$1" /sys/fs/cgroup/load-"$1" /run/netns/hl"$1" 2>/dev/null
	ls "$LOAD_DIR"
	ps -o pid=,comm= --ppid "$1"
}

why_bad() {	# what is wrong with this run, nothing when all is well
	local name=$1 rc=$2 pid=$3
	grep -q "^| \`$name[\` ]" "$here/README.md" || echo "no row in README.md"
	if [ "$rc" = 77 ]; then
		grep -q '^skip ..' "$out" || echo "skipped without a reason"
	elif [ "$rc" != 0 ]; then
		echo "exit status $rc"
	elif [ "${name#metric_}" != "$name" ]; then
		grep -qE '^expect pid=[0-9]+ tid=[0-9]+ metric=[a-z_]+ (expect|min)=' "$out" ||
			echo "no expect line"
	else
		grep -qE '^ready pid=[0-9]+ class=[a-z|-]+' "$out" || echo "no ready line"
	fi
	left_behind "$pid" | sed 's/^/left behind: /'
}

for name in "$@"; do
	"$bin/$name" --seconds 40 >"$out" 2>&1 &
	pid=$!
	for _ in $(seq 200); do
		grep -qE '^(ready|skip) ' "$out" && break
		kill -0 $pid 2>/dev/null || break
		sleep 0.2
	done
	sleep 1
	kill $pid 2>/dev/null
	wait $pid
	bad=$(why_bad "$name" $? $pid)
	if [ -z "$bad" ]; then
		passed=$((passed + 1))
		grep -h '^skip' "$out" | sed "s/^/$name: /"
	else
		failed=$((failed + 1))
		echo "$name: FAILED: $bad"
		sed 's/^/    /' "$out"
	fi
done
echo "$passed passed, $failed failed"
[ $failed = 0 ]
