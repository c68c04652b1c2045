"""An SFTP server in the test's own process, on the loopback interface: paramiko's, over a folder."""

import os
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import paramiko


class _Host(paramiko.ServerInterface):
    def __init__(self, key: paramiko.PKey) -> None:
        self._key = key

    def check_auth_publickey(self, username: str, key: paramiko.PKey) -> Any:
        is_right = username == "tester" and key == self._key
        return paramiko.AUTH_SUCCESSFUL if is_right else paramiko.AUTH_FAILED

    def get_allowed_auths(self, _username: str) -> str:
        return "publickey"

    def check_channel_request(self, _kind: str, _number: int) -> Any:
        return paramiko.OPEN_SUCCEEDED


class _Files(paramiko.SFTPServerInterface):
    root: Path

    def _local(self, path: str) -> Path:
        return self.root / str(self.canonicalize(path)).lstrip("/")

    def list_folder(self, path: str) -> Any:
        try:
            found = []
            for each in self._local(path).iterdir():
                attributes = paramiko.SFTPAttributes.from_stat(each.stat())
                attributes.filename = each.name
                found.append(attributes)
        except OSError as error:
            return paramiko.SFTPServer.convert_errno(error.errno)
        return found

    def stat(self, path: str) -> Any:
        try:
            return paramiko.SFTPAttributes.from_stat(self._local(path).stat())
        except OSError as error:
            return paramiko.SFTPServer.convert_errno(error.errno)

    lstat = stat

    def mkdir(self, path: str, _attributes: Any) -> Any:
        self._local(path).mkdir()
        return paramiko.SFTP_OK

    def chattr(self, _path: str, _attributes: Any) -> Any:
        return paramiko.SFTP_OK

    def open(self, path: str, flags: int, _attributes: Any) -> Any:
        handle = paramiko.SFTPHandle(flags)
        writes = bool(flags & (os.O_WRONLY | os.O_RDWR))
        try:
            file = self._local(path).open("wb" if writes else "rb")
        except OSError as error:
            return paramiko.SFTPServer.convert_errno(error.errno)
        # the file that paramiko's handle reads and writes
        handle.readfile = handle.writefile = file
        handle.stat = lambda: paramiko.SFTPAttributes.from_stat(os.fstat(file.fileno()))
        return handle


@contextmanager
def ssh_server(root: Path, home: Path) -> Iterator[int]:
    """Serve a folder for the user of a home folder, in which his key is. Yields the port."""
    host_key, own_key = (paramiko.RSAKey.generate(2048) for _ in range(2))
    folder = home / ".ssh"
    folder.mkdir(parents=True)
    own_key.write_private_key_file(str(folder / "id_rsa"))
    files = type("Files", (_Files,), {"root": root})
    transports: list[paramiko.Transport] = []
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        (folder / "known_hosts").write_text(
            f"[127.0.0.1]:{port} {host_key.get_name()} {host_key.get_base64()}\n"
        )

        def serve() -> None:
            with suppress(OSError):
                while True:
                    connection, _ = listening.accept()
                    transport = paramiko.Transport(connection)
                    transport.add_server_key(host_key)
                    transport.set_subsystem_handler("sftp", paramiko.SFTPServer, files)
                    transports.append(transport)
                    with suppress(paramiko.SSHException, EOFError):
                        transport.start_server(server=_Host(own_key))

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield port
        finally:
            listening.shutdown(socket.SHUT_RDWR)
            thread.join()
            for transport in transports:
                transport.close()
