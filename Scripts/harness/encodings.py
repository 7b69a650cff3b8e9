"""Encodings that Python lacks: two parts of protobuf, and the compressors of the C libraries that Sluice uses."""

import ctypes
import ctypes.util
import functools


def varint(number: int) -> bytes:
    text = bytearray()
    while number > 0x7F:
        text.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes(text) + bytes([number])


def field(number: int, content: bytes | str) -> bytes:
    """A length-delimited field."""
    content = content.encode() if isinstance(content, str) else content
    return varint(number << 3 | 2) + varint(len(content)) + content


@functools.cache
def library(name: str) -> ctypes.CDLL:
    return ctypes.CDLL(ctypes.util.find_library(name))


def zstd(content: bytes) -> bytes:
    it = library("zstd")
    it.ZSTD_compressBound.restype = it.ZSTD_compress.restype = ctypes.c_size_t
    it.ZSTD_compressBound.argtypes = [ctypes.c_size_t]
    it.ZSTD_compress.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_int]
    room = ctypes.create_string_buffer(it.ZSTD_compressBound(len(content)))
    size = it.ZSTD_compress(room, len(room), content, len(content), 1)
    return room.raw[:size]


def lz4(content: bytes) -> bytes:
    it = library("lz4")
    room = ctypes.create_string_buffer(it.LZ4_compressBound(len(content)))
    size = it.LZ4_compress_default(content, room, len(content), len(room))
    return room.raw[:size]


def unlz4(block: bytes, size: int) -> bytes:
    """The content of a block whose inflated size is known."""
    content = ctypes.create_string_buffer(size)
    if library("lz4").LZ4_decompress_safe(bytes(block), content, len(block), size) != size:
        raise ValueError(f"{len(block)} bytes are not an lz4 block of {size} bytes")
    return content.raw


def snappy(content: bytes) -> bytes:
    it = library("snappy")
    it.snappy_max_compressed_length.restype = ctypes.c_size_t
    it.snappy_max_compressed_length.argtypes = [ctypes.c_size_t]
    size = ctypes.c_size_t(it.snappy_max_compressed_length(len(content)))
    room = ctypes.create_string_buffer(size.value)
    it.snappy_compress(content, ctypes.c_size_t(len(content)), room, ctypes.byref(size))
    return room.raw[: size.value]
