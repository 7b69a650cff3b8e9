import System
import Testing

@Suite struct HexadecimalTests {
    @Test("Two digits stand for a byte, in the case that is wanted")
    func written() {
        #expect(hex([0x00, 0x9A, 0xFF]) == "009aff")
        #expect(hex([0x00, 0x9A, 0xFF], upper: true) == "009AFF")
    }

    @Test("A digit is read in either case, and nothing else is one")
    func read() {
        for value in UInt8.min...15 {
            for isUpper in [false, true] {
                let digits = Array(hex([value], upper: isUpper).utf8)
                #expect(hexValue(digits[1]) == value)
            }
        }
        let digits = Set("0123456789abcdefABCDEF".utf8)
        for byte in UInt8.min ... .max where !digits.contains(byte) {
            #expect(hexValue(byte) == nil, "\(byte)")
        }
    }
}
