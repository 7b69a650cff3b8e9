"""Encodes the two parts of protobuf that log formats need."""


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
