import TestSupport
import Testing

@testable import Logs

// Shared by the fuzz tests of several formats.

extension SeededRandom {
    mutating func chance(_ percent: Int) -> Bool {
        Int.random(in: 0..<100, using: &self) < percent
    }

    /// Characters of all lengths, and those that formats escape.
    mutating func text() -> String {
        let pieces = ["a", "xyz ", "é", "世", "😀", "\"", "\\", "\n", "\u{1F}", "/", "\u{7F}"]
        return (0..<Int.random(in: 0...6, using: &self)).map { _ in
            pieces.randomElement(using: &self)!
        }.joined()
    }

    /// The body after one to three accidents.
    mutating func mutated(_ body: [UInt8], _ tempting: [UInt8]) -> [UInt8] {
        var body = body
        for _ in 0..<Int.random(in: 1...3, using: &self) where !body.isEmpty {
            let place = Int.random(in: 0..<body.count, using: &self)
            let byte = tempting.randomElement(using: &self)!
            switch Int.random(in: 0..<6, using: &self) {
            case 0: body.remove(at: place)
            case 1: body.insert(byte, at: place)
            case 2: body.removeLast(body.count - place)
            case 3: body[place] &+= chance(50) ? 1 : 0xFF
            case 4: body[place] ^= 1 << UInt8.random(in: 0..<8, using: &self)
            default: body[place] = byte
            }
        }
        return body
    }
}

/// Bytes that mean something in texts of JSON.
let temptingInJSON = Array(#"{}[],:"\n0-1eut/ "#.utf8) + [0x80, 0xC3, 0]

/// A body of so many bytes is refused with a place in it, or is read as logs that can be written.
func expectRefusedOrWhole(
    _ count: Int,
    _ read: () throws(LogDecodingError) -> [DecodedLogs]
) {
    do throws(LogDecodingError) {
        for logs in try read() {
            #expect((try? LogEntries.count(logs.sound.bytes)) == logs.sound.count)
        }
    } catch {
        #expect(0...count ~= error.position, "\(error)")
    }
}

func expectReadable(_ logs: DecodedLogs) {
    #expect((try? logs.sound.read()) != nil)
    for faulty in logs.faulty { #expect((try? faulty.logs.read()) != nil) }
}
