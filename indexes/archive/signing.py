"""Signatures of WACZ files: the anonymous form of WACZ Signing and Verification 0.1.0.

Invariant: a signature is accepted only for the digest of the data package that was computed here, so that it stands for
every file that the package lists. It tells that the holder of a key signed, not who holds it.

The signed text is `sha256:` and hex of datapackage.json, as ArchiveWeb.page signs it: ECDSA with SHA-256, the
signature as WebCrypto gives it (r and s, one after the other), the public key as SubjectPublicKeyInfo, both in base64.
A signature in DER is read too. The other form, with the certificate of a domain and a signed time, is not verified: a
certificate's standing and that of a time-stamping service are known on the network alone.

Specification: https://specs.webrecorder.net/wacz-auth/0.1.0/
"""

from __future__ import annotations

import base64
import binascii
import importlib
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

from indexes.errors import ImportRefused, MissingExtra
from local_judge.base.files import read_file

PIP_LINE = "in the checkout, pip install '.[signing]'"
SOFTWARE = "frozen-web-snapshot"
SPECIFICATION = "0.1.0"
_ANONYMOUS = {"hash", "created", "software", "version", "signature", "publicKey"}
_LONGEST = 4_096
"""Characters of a key or a signature in base64; those of P-521 have 212 and 176."""

_MOST_KEY = 1 << 16
"""Maximum size of a key file in bytes."""


def sign(digest: str, key_file: Path) -> dict[str, str]:
    """The signature data of a package.

    Args:
        digest: `sha256:` and hex of datapackage.json.
        key_file: a private key for ECDSA in PEM, without a password.

    Raises:
        MissingExtra: cryptography is not installed.
        ImportRefused: the file holds no such key.
    """
    serialization, ec = _library("serialization"), _library("asymmetric.ec")
    try:
        key: Any = serialization.load_pem_private_key(read_file(key_file, _MOST_KEY), None)
    except OSError as error:
        raise ImportRefused(f"{key_file}: cannot be read ({error.strerror or error})") from None
    except (ValueError, TypeError, importlib.import_module("cryptography.exceptions").UnsupportedAlgorithm):
        key = None
    if not isinstance(key, ec.EllipticCurvePrivateKey):
        raise ImportRefused(
            f"{key_file}: not a private key for ECDSA in PEM without a password; make one with "
            f"`openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-384 -out KEYFILE`"
        )
    r, s = _library("asymmetric.utils").decode_dss_signature(key.sign(digest.encode(), _ecdsa()))
    size = (key.key_size + 7) // 8
    public: bytes = key.public_key().public_bytes(
        serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    return {
        "hash": digest,
        "created": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "software": SOFTWARE,
        "version": SPECIFICATION,
        "signature": base64.b64encode(r.to_bytes(size, "big") + s.to_bytes(size, "big")).decode(),
        "publicKey": base64.b64encode(public).decode(),
    }


def signer(data: object, digest: str) -> str | None:
    """The public key, in base64, that a package was signed with; None for a signature by a domain's certificate.

    Args:
        data: the signature data, as it came.
        digest: `sha256:` and hex of the datapackage.json that came with it.

    Raises:
        MissingExtra: cryptography is not installed.
        ValueError: the signature is none, or is not one of this digest by the key that it names.
    """
    fields = cast("dict[str, object]", data) if isinstance(data, dict) else {}
    if fields.get("hash") != digest:
        raise ValueError("it is of another package")
    if "domain" in fields:
        return None
    if not fields.keys() <= _ANONYMOUS:
        raise ValueError("it has properties that the specification does not know")
    key, signature = _bytes(fields.get("publicKey")), _bytes(fields.get("signature"))
    ec = _library("asymmetric.ec")
    exceptions: Any = importlib.import_module("cryptography.exceptions")
    try:
        public: Any = _library("serialization").load_der_public_key(key)
        if not isinstance(public, ec.EllipticCurvePublicKey):
            raise ValueError("its key is not an ECDSA key")
        size = (public.key_size + 7) // 8
        if len(signature) == 2 * size:
            r, s = int.from_bytes(signature[:size]), int.from_bytes(signature[size:])
            signature = _library("asymmetric.utils").encode_dss_signature(r, s)
        public.verify(signature, digest.encode(), _ecdsa())
    except exceptions.InvalidSignature:
        raise ValueError("it is not by the key that it names") from None
    except exceptions.UnsupportedAlgorithm:
        raise ValueError("its key is not an ECDSA key") from None
    return base64.b64encode(key).decode()


def read_public_key(given: str) -> str:
    """A public key in base64, from that or from the name of a PEM file.

    Raises:
        MissingExtra: cryptography is not installed.
        ImportRefused: it is neither.
    """
    serialization = _library("serialization")
    try:
        path = Path(given)
        key: Any = (
            serialization.load_pem_public_key(read_file(path, _MOST_KEY))
            if path.is_file()
            else serialization.load_der_public_key(_bytes(given))
        )
    except (OSError, ValueError, importlib.import_module("cryptography.exceptions").UnsupportedAlgorithm):
        raise ImportRefused(
            f"{given[:80]!r} is neither a PEM file with a public key nor such a key in base64"
        ) from None
    der: bytes = key.public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
    return base64.b64encode(der).decode()


def _bytes(text: object) -> bytes:
    if not isinstance(text, str) or len(text) > _LONGEST:
        raise ValueError("it has no key or no signature")
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise ValueError("its key or signature is not base64") from None


def _ecdsa() -> Any:
    return _library("asymmetric.ec").ECDSA(_library("hashes").SHA256())


def _library(name: str) -> Any:
    try:
        return importlib.import_module(f"cryptography.hazmat.primitives.{name}")
    except ImportError:
        raise MissingExtra(f"signatures need cryptography: {PIP_LINE}") from None
