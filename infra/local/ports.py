"""Ports on loopback: which are free, and who has the others."""

import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Final

HOST: Final = "127.0.0.1"
LISTENING: Final = "0A"
"""The state of a listening socket in Linux's tables."""


class PortTaken(RuntimeError):
    """Somebody else listens on a port; the message says who, and what to do."""


def check_free(port: int, variable: str) -> None:
    """Refuses a port that somebody listens on.

    Raises:
        PortTaken: the port is in use.
    """
    if not is_free(port):
        raise PortTaken(f"Port {port} is in use by {listener(port)}. Stop it, or choose another one: {variable}=PORT")


def is_free(port: int) -> bool:
    """Whether a server of ours could listen on the port."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
        return True


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
        return port


def listener(port: int) -> str:
    """Who listens on the port, as far as this user may know."""
    inodes = set(_listening_inodes(port))
    for process in Path("/proc").glob("[0-9]*"):
        if inodes & set(_open_sockets(process)):
            return f"process {process.name} ({_command(process)})"
    return "another process"


def _listening_inodes(port: int) -> Iterator[str]:
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        if Path(table).exists():
            for line in Path(table).read_text().splitlines()[1:]:
                fields = line.split()
                if fields[3] == LISTENING and int(fields[1].rpartition(":")[2], 16) == port:
                    yield f"socket:[{fields[9]}]"


def _open_sockets(process: Path) -> Iterator[str]:
    try:
        for opened in (process / "fd").iterdir():
            yield str(opened.readlink())
    except OSError:
        return


def _command(process: Path) -> str:
    try:
        return (process / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
    except OSError:
        return "gone meanwhile"
