"""Reads what the queue and the way to SLS hold: blocks of lz4, with the library that Sluice itself needs."""

import ctypes

library = ctypes.CDLL("liblz4.so.1")


def unpacked(block: bytes, size: int) -> bytes:
    """The content of a block that is known to have so many bytes."""
    content = ctypes.create_string_buffer(size)
    if library.LZ4_decompress_safe(bytes(block), content, len(block), size) != size:
        raise ValueError(f"{len(block)} bytes are no lz4 block of {size}")
    return content.raw
