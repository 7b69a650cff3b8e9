import CSystem

/// Bytes nobody can guess, from the kernel.
package func randomBytes(_ count: Int) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
        // getrandom fails only for a bad pointer or a kernel without the call.
        precondition(sluice_random(buffer.baseAddress, count) == 0, "the kernel has no randomness")
        filled = count
    }
}

private let upperDigits = Array("0123456789ABCDEF".utf8)
private let lowerDigits = Array("0123456789abcdef".utf8)

/// Two hexadecimal digits a byte.
package func hex(_ bytes: some Sequence<UInt8>, upper: Bool = false) -> String {
    let digits = upper ? upperDigits : lowerDigits
    var text: [UInt8] = []
    for byte in bytes {
        text.append(digits[Int(byte >> 4)])
        text.append(digits[Int(byte & 15)])
    }
    return String(decoding: text, as: UTF8.self)
}
