#!/bin/bash
# boot.sh TREE NAME CGROUP: systemd as process 1 of TREE. The caller gave this process its own mount, network, IPC and
# UTS namespaces; CGROUP is a directory of a cgroup2 mount.
set -e
tree=$1 name=$2
echo $$ >"$3/cgroup.procs"
hostname "$name"
# The new cgroup namespace begins at CGROUP, so the tree sees a hierarchy of its own.
exec unshare --cgroup --pid --fork --kill-child bash -ec '
tree=$1
mount -t proc proc "$tree/proc"
mount -t sysfs -o ro sysfs "$tree/sys"
mount -t tmpfs -o mode=755 tmpfs "$tree/sys/fs/cgroup"
umount "$tree/sys/fs/cgroup"
mount -t cgroup2 cgroup2 "$tree/sys/fs/cgroup"
for place in run tmp dev; do mount -t tmpfs -o mode=755 tmpfs "$tree/$place"; done
chmod 1777 "$tree/tmp"
for device in null zero full random urandom tty; do
  touch "$tree/dev/$device"
  mount --bind "/dev/$device" "$tree/dev/$device"
done
mkdir "$tree/dev/pts" "$tree/dev/shm"
chmod 1777 "$tree/dev/shm"
mount -t devpts -o newinstance,ptmxmode=0666 devpts "$tree/dev/pts"
# Each boot has an id of its own, as on a machine.
cat /proc/sys/kernel/random/uuid >"$tree/dev/shm/boot_id"
mount --bind "$tree/dev/shm/boot_id" "$tree/proc/sys/kernel/random/boot_id"
ln -s pts/ptmx "$tree/dev/ptmx"
touch "$tree/dev/console"
# Not chroot: the kernel allows no user namespaces there, which units with PrivateUsers= need.
cd "$tree"
pivot_root . .
umount --lazy .
exec env -i container=lxc PATH=/usr/sbin:/usr/bin:/sbin:/bin /lib/systemd/systemd
' boot "$tree"
