#!/usr/bin/env bash
# lint.sh COLLECTION: ansible-lint's production profile and ansible-doc over the collection. Needs no network.
# Skipped (exit 77) where there is no ansible-lint.
set -euo pipefail
command -v ansible-lint >/dev/null || { echo "skipped: there is no ansible-lint"; exit 77; }
collection=$(realpath "$1")
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
# Roles are found by the collection's name, so it lies where Ansible looks for collections.
home=$place/ansible_collections/ringmaster/cluster
mkdir -p "$home"
cp -a "$collection/." "$home"
cd "$home"
git init -q .
export ANSIBLE_COLLECTIONS_PATH=$place ANSIBLE_HOME=$place/home LC_ALL=C.UTF-8 NO_COLOR=1
ansible-lint --offline --profile production --nocolor --strict
for role in roles/*; do
  ansible-doc -t role "ringmaster.cluster.${role#roles/}" >/dev/null
done
for plugin in plugins/inventory/*.py; do
  [ -e "$plugin" ] && ansible-doc -t inventory "ringmaster.cluster.$(basename "$plugin" .py)" >/dev/null
done
for play in playbooks/*.yml; do
  ansible-playbook --syntax-check -i localhost, "$play" >/dev/null
done
