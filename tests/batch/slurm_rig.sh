#!/bin/bash
# A cluster of Slurm on this machine, for one test: slurm_rig.sh FOLDER COMMAND LINE
# Runs the command line where sbatch and srun work: a controller and the nodes n1 and n2, each in a
# network and UTS namespace of its own, on a bridge. It needs root, and network, UTS and PID
# namespaces of its own, so that all processes end with it:
#   unshare -n -u -m -p -f --kill-child --mount-proc slurm_rig.sh ...
# Everything that it writes is in FOLDER.
set -eu
folder=$1
shift
hostname controller
ip link set lo up
ip link add bridge0 type bridge
ip addr add 10.77.0.1/24 dev bridge0
ip link set bridge0 up

# Slurm finds the addresses of hosts in its configuration, but looks up its own name.
echo "127.0.0.1 localhost
10.77.0.1 controller
10.77.0.11 n1
10.77.0.12 n2" > "$folder/hosts"
mount --bind "$folder/hosts" /etc/hosts

mkdir -m 755 "$folder/munge" "$folder/state"
head -c 1024 /dev/urandom > "$folder/munge/key"
chmod 400 "$folder/munge/key"
munged --force --key-file="$folder/munge/key" --socket="$folder/munge/socket" \
  --pid-file="$folder/munge/pid" --log-file="$folder/munge/log" --seed-file="$folder/munge/seed" \
  2> "$folder/munge/err"

cat > "$folder/slurm.conf" <<END
ClusterName=test
SlurmctldHost=controller(10.77.0.1)
AuthType=auth/munge
AuthInfo=socket=$folder/munge/socket
CredType=cred/munge
SlurmUser=root
SlurmctldPidFile=$folder/slurmctld.pid
SlurmctldLogFile=$folder/slurmctld.log
SlurmdPidFile=$folder/slurmd.%n.pid
SlurmdLogFile=$folder/slurmd.%n.log
SlurmdSpoolDir=$folder/spool.%n
StateSaveLocation=$folder/state
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SchedulerType=sched/builtin
SelectType=select/cons_res
SelectTypeParameters=CR_CPU
SchedulerParameters=batch_sched_delay=0,sched_interval=1
MpiDefault=none
ReturnToService=2
SlurmdParameters=config_overrides
KillWait=1
NodeName=n1 NodeAddr=10.77.0.11 CPUs=2 State=UNKNOWN
NodeName=n2 NodeAddr=10.77.0.12 CPUs=2 State=UNKNOWN
PartitionName=all Nodes=n1,n2 Default=YES MaxTime=INFINITE State=UP
END
export SLURM_CONF=$folder/slurm.conf

for n in 1 2; do
  ip link add "v$n" type veth peer name "e$n"
  ip link set "v$n" master bridge0 up
  mkdir "$folder/spool.n$n"
  unshare -n -u bash -c "hostname n$n; until [ -e '$folder/ready$n' ]; do sleep 0.01; done
    exec slurmd -D" > "$folder/slurmd$n.out" 2>&1 &
  node=$!
  until [ "$(readlink /proc/$node/ns/net)" != "$(readlink /proc/$$/ns/net)" ]; do sleep 0.01; done
  ip link set "e$n" netns "$node"
  nsenter -t "$node" -n ip link set lo up
  nsenter -t "$node" -n ip addr add "10.77.0.1$n/24" dev "e$n"
  nsenter -t "$node" -n ip link set "e$n" up
  touch "$folder/ready$n"
done
slurmctld -D -i > "$folder/slurmctld.out" 2>&1 &

# Up to a minute, for a machine that is busy.
for _ in $(seq 600); do
  [ "$(sinfo -h -o %t%D 2> "$folder/sinfo.err")" = idle2 ] && break
  sleep 0.1
done
if [ "$(sinfo -h -o %t%D)" != idle2 ]; then
  echo "no cluster:" >&2
  sinfo >&2 || true
  tail -n 5 "$folder"/*.log "$folder"/*.out >&2
  exit 9
fi
eval "$*"
