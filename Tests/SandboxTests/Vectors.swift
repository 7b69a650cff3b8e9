import System

@testable import Sandbox

/// Bytes that the official Python SDK produced.
enum Vectors {
    static let minimal = bytes("0a0e0888c198bc0612060a016b120176")

    static let raw = bytes(
        """
        0a2b0888c198bc06120d0a056c6576656c1204696e666f12140a036d7367120d\
        68c3a96c6c6f20e4b896e7958c0a160889c198bc0612090a05656d7074791200\
        2515cd5b071a03617070220831302e302e302e3132210a0b5f5f7061636b5f69\
        645f5f1212354432443145304135434442344533362d30320b0a03656e761204\
        70726f64
        """
    )

    static let lz4 = bytes(
        """
        f1220a2b0888c198bc06120d0a056c6576656c1204696e666f12140a036d7367\
        120d68c3a96c6c6f20e4b896e7958c0a1608892d00f03f090a05656d70747912\
        002515cd5b071a03617070220831302e302e302e3132210a0b5f5f7061636b5f\
        69645f5f1212354432443145304135434442344533362d30320b0a03656e7612\
        0470726f64
        """
    )

    static let goBody = bytes(
        """
        0a320a1e08f8b2939e0512160a07546573744b6579120b54657374436f6e7465\
        6e741a00220e31302e3233302e3230312e313137
        """
    )

    private static func bytes(_ hex: String) -> [UInt8] {
        let digits = hex.utf8.compactMap(hexValue)
        return stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
    }
}
