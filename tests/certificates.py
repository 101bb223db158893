"""Certificates for servers on loopback, each with a key that is used only here."""

import ssl
from pathlib import Path


def tls_contexts(pem: str, folder: Path) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """The SSL contexts of a server with the certificate and of a client that trusts it."""
    path = folder / "certificate.pem"
    path.write_text(pem)
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(path)
    return server, ssl.create_default_context(cafile=str(path))


# For 127.0.0.1; it ended in 2020.
EXPIRED = """\
-----BEGIN CERTIFICATE-----
MIIBXTCCAQOgAwIBAgIBATAKBggqhkjOPQQDAjAXMRUwEwYDVQQDDAxzaG9wLmV4
YW1wbGUwHhcNMjAwMTAxMDAwMDAwWhcNMjAwMTAyMDAwMDAwWjAXMRUwEwYDVQQD
DAxzaG9wLmV4YW1wbGUwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAASBMJqCQ/Uy
43hYQmFPmrxvP9AX6TYmiK8M0BlKFT7CT0fa6R7QslrZ/HSDagZEc44IF7UyINH/
lZCNiy/0bG4So0AwPjAPBgNVHREECDAGhwR/AAABMAwGA1UdEwQFMAMBAf8wHQYD
VR0OBBYEFKm+TlipsMbi7FvjYtHxIjCq9xg2MAoGCCqGSM49BAMCA0gAMEUCIHXA
xUj7yd7A6DErraRf7iB2qpE+eOet5grdnsV4JQvhAiEAq49dCOBGrh4yzgkfFDQx
4Z18ZvMEoE7CC/3fKV0KHqY=
-----END CERTIFICATE-----
-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgvXjd0XUWdJ0MnP5L
uRk4n92zN5da0crq+8XwzMVrg7OhRANCAASBMJqCQ/Uy43hYQmFPmrxvP9AX6TYm
iK8M0BlKFT7CT0fa6R7QslrZ/HSDagZEc44IF7UyINH/lZCNiy/0bG4S
-----END PRIVATE KEY-----
"""

# For shop.example; it ends in 2126.
OF_ANOTHER_HOST = """\
-----BEGIN CERTIFICATE-----
MIIBnTCCAUSgAwIBAgIUNUWNdHF4iWBg38508pxE9K9FeRMwCgYIKoZIzj0EAwIw
FzEVMBMGA1UEAwwMc2hvcC5leGFtcGxlMCAXDTI2MTEyMTA4MDc1MVoYDzIxMjYx
MDI4MDgwNzUxWjAXMRUwEwYDVQQDDAxzaG9wLmV4YW1wbGUwWTATBgcqhkjOPQIB
BggqhkjOPQMBBwNCAATvWTmam4pi5uuRGUixmLmxBdXzuaZENUR9/xHLERPLZzo+
1iAmr4Hnz1M8mrLjKJjTLxwE9BKWfoDTw9Kf+Ejko2wwajAdBgNVHQ4EFgQUn4QS
vk4cLSopTj9SbiqnmGbZwSgwHwYDVR0jBBgwFoAUn4QSvk4cLSopTj9SbiqnmGbZ
wSgwDwYDVR0TAQH/BAUwAwEB/zAXBgNVHREEEDAOggxzaG9wLmV4YW1wbGUwCgYI
KoZIzj0EAwIDRwAwRAIgfuA6ybzcPYyb2zjLhqX7GliqKesIFv/W8Pef0jDYG3IC
IE0CPEFtBtbzQyRNvFM6eI1AsudsjiV6oUnFeT0FUJpP
-----END CERTIFICATE-----
-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgpcHLZWn3HyR7kIW+
qUm/Yp4QlWJSDYwsB2SjMXsMj0ChRANCAATvWTmam4pi5uuRGUixmLmxBdXzuaZE
NUR9/xHLERPLZzo+1iAmr4Hnz1M8mrLjKJjTLxwE9BKWfoDTw9Kf+Ejk
-----END PRIVATE KEY-----
"""
