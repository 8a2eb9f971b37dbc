# Reads what a host without Python 3.6 tells about its GPUs and itself, and prints it as one framed document, the one that
# remote_collector.py describes. Changes and writes nothing. `gpuwhy collect` sends this to `sh -s -- TOKEN SECONDS`.
# It needs a POSIX shell, cat and wc; what other commands there are tell more. Where `timeout` is missing, a command that
# hangs is ended with the connection.

token=$1
seconds=$2
LC_ALL=C LANG=C HOME=/nonexistent
PATH=$PATH:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin:/usr/local/nvidia/bin:/usr/lib/wsl/lib:/opt/bin
export LC_ALL LANG HOME PATH
words='NVRM|nvidia|Xid|AER:|PCIe Bus Error|available PCIe bandwidth|[Oo]ut of memory|oom-kill|oom_kill|Machine [Cc]heck'
words="$words|mce:|EDAC|I/O error|temperature above threshold|soft lockup|hung_task|blocked for more than"

have() { command -v "$1" >/dev/null 2>&1; }

limited() {
  if have timeout; then timeout "$@" 2>/dev/null </dev/null; else shift; "$@" 2>/dev/null </dev/null; fi
}

bytes() { echo $(($(printf %s "$1" | wc -c))); }

section() { printf 'section\t%s\t%s\t%s\n%s\n' "$1" "$2" "$(bytes "$3")" "$3"; }

absent() { printf 'absent\t%s\t%s\n' "$1" "$2"; }

run() {
  if ! have "$1"; then
    absent "$*" "not installed"
    return
  fi
  content=$(limited 20 "$@")
  status=$?
  if [ "$status" -eq 124 ]; then absent "$*" "did not end within 20 s"; else section "$*" "$status" "$content"; fi
}

file() {
  if content=$(cat "$1" 2>/dev/null); then section "$1" 0 "$content"; else absent "$1" "no such file, or not readable"; fi
}

quiet_file() {
  if content=$(cat "$1" 2>/dev/null); then section "$1" 0 "$content"; fi
}

kernel_log() {
  if ! have grep || ! have tail; then
    absent "kernel log" "grep or tail is not installed"
    return
  fi
  for reader in "dmesg" "journalctl -k -b -q --no-pager -o short-monotonic"; do
    have "${reader%% *}" || continue
    # shellcheck disable=SC2086 # the words of the command
    content=$(limited 20 $reader) || continue
    [ -n "$content" ] || continue
    section "kernel log" 0 "$(printf '%s\n' "$content" | grep -E "$words" | tail -n 400)"
    return
  done
  absent "kernel log" "dmesg and journalctl are not permitted, or not installed"
}

groups=
cgroup_files() {
  case "$groups" in *"<$1>"*) return ;; esac
  groups="$groups<$1>"
  for name in cpu.max cpu.stat cpu.pressure cpuset.cpus.effective cpuset.effective_cpus cpuset.cpus memory.max \
    memory.high memory.current memory.events memory.pressure io.pressure cpu.cfs_quota_us cpu.cfs_period_us \
    memory.limit_in_bytes memory.usage_in_bytes memory.oom_control; do
    quiet_file "$1/$name"
  done
}

cgroup_counters() {
  rest=$groups
  while [ -n "$rest" ]; do
    group=${rest%%">"*}
    group=${group#"<"}
    rest=${rest#*">"}
    for name in cpu.stat memory.events memory.oom_control; do
      if content=$(cat "$group/$name" 2>/dev/null); then section "after:$group/$name" 0 "$content"; fi
    done
  done
}

cgroups() {
  while IFS=: read -r _ controllers path; do
    root=/sys/fs/cgroup${controllers:+/$controllers}
    path=${path%/}
    while [ -n "$path" ]; do
      cgroup_files "$root$path"
      path=${path%/*}
    done
    cgroup_files "$root"
  done
}

processes() {
  count=0
  while IFS=, read -r _ pid _; do
    pid=${pid# }
    case $pid in '' | *[!0-9]*) continue ;; esac
    count=$((count + 1))
    [ "$count" -le 16 ] || return
    for name in comm status cgroup limits; do quiet_file "/proc/$pid/$name"; done
    [ -r "/proc/$pid/cgroup" ] && cgroups <"/proc/$pid/cgroup"
  done
}

driver() {
  run nvidia-smi -q -x
  have nvidia-smi || return
  query="--query-compute-apps=gpu_uuid,pid,process_name,used_gpu_memory"
  run nvidia-smi "$query" --format=csv
  case $status in 0) processes <<LIST ;; esac
$content
LIST
}

links() {
  found=no
  for device in /sys/bus/pci/devices/*; do
    content=
    read -r content 2>/dev/null <"$device/vendor" || continue
    [ "$content" = 0x10de ] || continue
    found=yes
    real=$(cd -P "$device" 2>/dev/null && pwd) || continue
    printf 'link\t%s\t%s\n' "$device" "$real"
    while [ -r "$real/vendor" ]; do
      for name in vendor device class numa_node current_link_speed current_link_width max_link_speed max_link_width; do
        quiet_file "$real/$name"
      done
      real=${real%/*}
    done
  done
  [ "$found" = yes ] || absent "pci links" "no PCI device of NVIDIA in /sys/bus/pci"
}

snapshot() {
  for path in uptime stat vmstat diskstats pressure/cpu pressure/memory pressure/io pressure/irq; do
    if content=$(cat "/proc/$path" 2>/dev/null); then
      section "$1:/proc/$path" 0 "$content"
    elif [ "$1" = before ]; then
      absent "/proc/$path" "no such file, or not readable"
    fi
  done
}

collect() {
  section collector 0 sh
  snapshot before
  driver
  kernel_log
  links
  for path in /proc/sys/kernel/hostname /proc/version /proc/driver/nvidia/version /proc/meminfo /proc/loadavg \
    /proc/self/mountinfo /sys/devices/system/cpu/online /sys/devices/system/cpu/cpu0/cpufreq/scaling_governor \
    /sys/devices/system/clocksource/clocksource0/current_clocksource; do
    file "$path"
  done
  for path in /sys/devices/system/node/node*/cpulist /sys/block/*/queue/rotational /sys/block/*/device/model \
    /sys/block/*/device/vendor; do
    quiet_file "$path"
  done
  run df -P -l
  run lscpu
  run top -b -n 2 -d 1 -w 160
  run nvidia-smi topo -m
  have sleep && sleep 2
  snapshot after
  cgroup_counters
}

main() {
  renice -n 10 -p $$ >/dev/null 2>&1
  ulimit -t "$seconds" 2>/dev/null
  body=$(collect)
  hash=-
  if have sha256sum; then
    hash=$(printf %s "$body" | sha256sum)
    hash=${hash%% *}
  fi
  printf '\n<<gpuwhy %s begin sh>>\n%s\n<<gpuwhy %s end bytes=%s sha256=%s>>\n' \
    "$token" "$body" "$token" "$(bytes "$body")" "$hash"
}

main
exit 0
