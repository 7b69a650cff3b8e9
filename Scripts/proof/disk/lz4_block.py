"""Reads the lz4 blocks of the queue and of PutLogs, with the library that Sluice uses."""

import ctypes

library = ctypes.CDLL("liblz4.so.1")


def unpacked(block: bytes, size: int) -> bytes:
    """The content of a block whose inflated size is known."""
    content = ctypes.create_string_buffer(size)
    if library.LZ4_decompress_safe(bytes(block), content, len(block), size) != size:
        raise ValueError(f"{len(block)} bytes are not an lz4 block of {size} bytes")
    return content.raw
