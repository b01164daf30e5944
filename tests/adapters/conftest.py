"""Somewhere to send to: a provider on loopback, and addresses where nobody answers."""

import socket
import ssl
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

import botocore.session
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from tests.adapters.loopback import Provider, accept


@pytest.fixture
def provider() -> Iterator[Provider]:
    listener = socket.create_server(("127.0.0.1", 0), backlog=64)
    provider = Provider(url=f"http://127.0.0.1:{listener.getsockname()[1]}/api/")
    thread = threading.Thread(target=accept, args=(listener, provider), daemon=True)
    thread.start()
    yield provider
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()
    thread.join(timeout=5)


@pytest.fixture
def closed_url() -> str:
    """Where nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    return f"http://127.0.0.1:{port}/api/"


@pytest.fixture
def deaf_url() -> Iterator[str]:
    """Where connecting hangs: the queue of connections is full, and nobody takes one."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        port = listener.getsockname()[1]
        waiting = [socket.socket() for _ in range(4)]
        for client in waiting:
            client.setblocking(False)  # noqa: FBT003  (socket's own signature)
            client.connect_ex(("127.0.0.1", port))
        yield f"http://127.0.0.1:{port}/api/"
        for client in waiting:
            client.close()


@pytest.fixture(scope="session")
def aws() -> botocore.session.Session:
    """Makes AWS clients."""
    return botocore.session.Session()


@pytest.fixture
def tls_certificate(tmp_path: Path) -> str:
    """A file with a certificate of loopback's own, that nobody vouches for, and its key."""
    return str(_self_signed(tmp_path / "both.pem"))


@pytest.fixture
def tls_provider(tls_certificate: str) -> Iterator[Provider]:
    """A provider behind that certificate."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tls_certificate)
    listener = context.wrap_socket(socket.create_server(("127.0.0.1", 0)), server_side=True)
    provider = Provider(url=f"https://127.0.0.1:{listener.getsockname()[1]}/api/")
    thread = threading.Thread(target=accept, args=(listener, provider), daemon=True)
    thread.start()
    yield provider
    listener.close()


def _self_signed(path: Path) -> Path:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.now(tz=UTC)
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False)
        .sign(key, hashes.SHA256())
    )
    pem, pkcs8, plain = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    path.write_bytes(key.private_bytes(pem, pkcs8, plain) + certificate.public_bytes(pem))
    return path
