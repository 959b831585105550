"""Packed bodies that become a thousand times as large when they are unpacked."""

import zlib

__all__ = ["MIB", "bomb"]

MIB = 1024 * 1024
_HEADS = {31: b"\x1f\x8b\x08" + bytes(7), 15: b"\x78\xda", -15: b""}


def bomb(form: int, mebibytes: int = 1024) -> bytes:
    """So many MiB of spaces as gzip (31), zlib (15) or bare deflate (-15), packed once and repeated.

    Its checksum is wrong, which nobody learns who has not unpacked it all.
    """
    packing = zlib.compressobj(9, wbits=-15)
    block = packing.compress(b" " * MIB) + packing.flush(zlib.Z_FULL_FLUSH)
    return _HEADS[form] + block * mebibytes + packing.flush() + bytes(8)
