// Network sockets of processes (Linux, proc(5)).
import { readFileSync, readdirSync, readlinkSync } from 'node:fs';

const TABLES = ['tcp', 'tcp6', 'udp', 'udp6'];

/** The ports at both ends of each network socket of a process; none if it has ended. */
export function networkSockets(pid) {
  try {
    const own = new Set(readdirSync(`/proc/${pid}/fd`).flatMap((fd) => inodeOf(`/proc/${pid}/fd/${fd}`)));
    return TABLES.flatMap((table) =>
      readFileSync(`/proc/${pid}/net/${table}`, 'utf8')
        .split('\n')
        .slice(1)
        .map((line) => line.trim().split(/\s+/))
        .filter((fields) => own.has(fields[9]))
        .map(([, local, remote]) => ({ table, local: portOf(local), remote: portOf(remote) })),
    );
  } catch {
    return [];
  }
}

function inodeOf(link) {
  try {
    return /^socket:\[(\d+)\]$/.exec(readlinkSync(link))?.slice(1) ?? [];
  } catch {
    return []; // closed meanwhile
  }
}

function portOf(address) {
  return Number.parseInt(address.split(':')[1], 16);
}
