"""Bodies that are small on the wire and large when inflated. They are made by hand where Python has no compressor."""

import gzip
import struct
import zlib
from collections.abc import Iterator

from harness.encodings import varint

# Name, path, body, header fields and the accepted statuses.
Body = tuple[str, str, bytes, list[str], set[int]]


MIB = 1 << 20


def deflated(size: int, bits: int = 15) -> bytes:
    """A zlib stream, with 31 bits a gzip stream. The content is blanks, which JSON allows."""
    packer = zlib.compressobj(9, zlib.DEFLATED, bits)
    return b"".join([*(packer.compress(b" " * MIB) for _ in range(size // MIB)), packer.flush()])


def zstd(size: int, window: int = 0x58, claimed: int | None = None) -> bytes:
    """Run-length blocks: one byte, repeated 128 Ki times."""
    if claimed is None:
        head = struct.pack("<IBB", 0xFD2FB528, 0x00, window)
    else:
        head = struct.pack("<IBBQ", 0xFD2FB528, 0xC0, window, claimed)
    count = max(1, size >> 17)
    blocks = [(1 << 17) << 3 | 1 << 1 | (number == count - 1) for number in range(count)]
    return head + b"".join(struct.pack("<I", block)[:3] + b" " for block in blocks)


def lz4_block(size: int) -> bytes:
    """A blank, a match that repeats it, and the five literals that must end a block."""
    rest = size - 6 - 4
    long = b"\xff" * ((rest - 15) // 255) + bytes([(rest - 15) % 255])
    return b"\x1f \x01\x00" + long + b"\x50     "


def snappy(size: int, claimed: int | None = None) -> bytes:
    """A blank, and copies of 64 bytes of it."""
    copies = size // 64
    return varint(1 + 64 * copies if claimed is None else claimed) + b"\x00 " + b"\xfe\x01\x00" * copies


# A frame header for independent blocks of 4 MiB.
LZ4_FRAME = bytes.fromhex("04224d18607073")


def lz4_frame(blocks: int) -> bytes:
    """A frame with blocks of 4 MiB."""
    block = lz4_block(4 * MIB)
    return LZ4_FRAME + (struct.pack("<I", len(block)) + block) * blocks + bytes(4)


SNAPPY_START = b"\xff\x06\x00\x00sNaPpY"


def snappy_chunks(count: int) -> bytes:
    """Chunks of 64 KiB of blanks, each after its checksum."""
    block = varint(1 << 16) + b"\x00 " + b"\xfe\x01\x00" * 1023 + b"\xfa\x01\x00"
    chunk = struct.pack("<I", 0xDFD66B37) + block
    return SNAPPY_START + (b"\x00" + struct.pack("<I", len(chunk))[:3] + chunk) * count


PLAIN, LOKI = "/logs/bombs", "/loki/api/v1/push"
PUT = "/logstores/bombs/shards/lb"
PROTOBUF = "Content-Type: application/x-protobuf"
RAW = "x-log-apiversion: 0.6.0"


def package(name: str, size: int) -> list[str]:
    return [PROTOBUF, RAW, f"x-log-compresstype: {name}", f"x-log-bodyrawsize: {size}"]


def coded(name: str, coding: str, content: bytes, *right: int, claims: int | None = None) -> Body:
    """A body in a content coding, which may claim its inflated size."""
    fields = [] if claims is None else [f"x-log-bodyrawsize: {claims}"]
    return name, PLAIN, content, [f"Content-Encoding: {coding}", *fields], set(right)


def bombs() -> Iterator[Body]:
    """Every bomb, with the accepted statuses."""
    large, claim = 64 * MIB, 1 << 62
    twice, skipped = gzip.compress(deflated(large, 31)), bytes.fromhex("502a4d1800000000") * MIB
    yield coded("gzip", "gzip", deflated(large, 31), 413)
    yield coded("deflate", "deflate", deflated(large), 413)
    yield coded("zstd", "zstd", zstd(1 << 30), 413)
    yield coded("lz4", "lz4", lz4_block(large), 413, claims=large)
    yield coded("gzip in gzip", "gzip", twice, 400)
    yield coded("gzip, gzip", "gzip, gzip", twice, 400, 415)
    yield coded("gzip of many members", "gzip", gzip.compress(b" " * 9000) * 60000, 400, 413)
    yield coded("gzip of empty members", "gzip", gzip.compress(b"") * 400000, 400, 413)
    yield coded("zstd of empty frames", "zstd", bytes.fromhex("28b52ffd2000010000") * MIB, 400, 413)
    yield coded("zstd that is skipped", "zstd", skipped, 400, 413)
    yield coded("zstd with a window of 2^41", "zstd", zstd(MIB, window=0xFF), 400, 413)
    yield coded("zstd with a window of 128 MiB", "zstd", zstd(MIB, window=0x88), 400, 413)
    yield coded("zstd that claims 2^62", "zstd", zstd(MIB, claimed=claim), 400, 413)
    yield coded("lz4 frame", "lz4", lz4_frame(16), 413)
    yield coded("lz4 frame that claims its size", "lz4", lz4_frame(16), 413, claims=large)
    yield coded("lz4 of empty frames", "lz4", (LZ4_FRAME + bytes(4)) * 900000, 400)
    yield coded("lz4 of frames that are skipped", "lz4", LZ4_FRAME + bytes(4) + skipped, 400)
    yield coded("snappy in chunks", "snappy", snappy_chunks(300), 413)
    yield coded("snappy of padding", "snappy", SNAPPY_START + bytes.fromhex("fe000000") * (2 * MIB), 400)
    empty = bytes.fromhex("01040000d8ea82a2")
    yield coded("snappy of empty chunks", "x-snappy-framed", SNAPPY_START + empty * MIB, 400)
    yield coded("lz4 that claims nothing", "lz4", lz4_block(large), 400)
    yield "PutLogs, lz4", PUT, lz4_block(large), package("lz4", large), {400, 413}
    yield "PutLogs, lz4 that claims 1 B", PUT, lz4_block(large), package("lz4", 1), {400, 413}
    yield "PutLogs, lz4 that claims 2^62", PUT, lz4_block(MIB), package("lz4", claim), {400, 413}
    yield "PutLogs, deflate", PUT, deflated(large), package("deflate", large), {400, 413}
    yield "PutLogs, zstd", PUT, zstd(large), package("zstd", 9 * MIB), {400, 413}
    yield "Loki, snappy", LOKI, snappy(9 * MIB), [PROTOBUF], {400, 413}
    yield "Loki, snappy that claims 4 GiB", LOKI, snappy(MIB, (1 << 32) - 1), [PROTOBUF], {400, 413}
    yield "Loki, snappy that claims 2^62", LOKI, snappy(MIB, claim), [PROTOBUF], {400, 413}
    yield "Loki, snappy that claims 9 MiB", LOKI, varint(9 * MIB), [PROTOBUF], {400, 413}
