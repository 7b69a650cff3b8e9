import Glibc
import System

/// Our end of a pipe to a child or from it.
package final class PipeEnd {
    private var end: OwnedDescriptor?

    init(taking number: CInt) {
        end = OwnedDescriptor(taking: number)
    }

    /// -1 once it is closed.
    package var descriptor: CInt { end?.number ?? -1 }

    package func close() {
        end = nil
    }

    /// Waits for something to read; empty at the end.
    package func read() -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: 16 << 10) { piece, count in
            let got = try? system("read") { Glibc.read(descriptor, piece.baseAddress, piece.count) }
            count = got ?? 0
        }
    }

    /// Reads until the text has come, and gives everything up to then; nil when the end comes
    /// first.
    package func read(until text: String) -> String? {
        read { (said: String) in said.contains(text) ? said : nil }
    }

    /// The port that a server names behind the text, once that line is whole.
    package func port(after text: String) -> Int? {
        read { said -> Substring? in
            guard let start = said.firstRange(of: text)?.upperBound,
                let end = said[start...].firstIndex(of: "\n")
            else { return nil }
            return said[start..<end]
        }.flatMap { Int($0) }
    }

    private func read<Found>(until find: (String) -> Found?) -> Found? {
        var all: [UInt8] = []
        while true {
            let piece = read()
            guard !piece.isEmpty else { return nil }
            all += piece
            if let found = find(String(decoding: all, as: UTF8.self)) { return found }
        }
    }

    package func readAll() -> String {
        var all: [UInt8] = []
        while case let piece = read(), !piece.isEmpty { all += piece }
        return String(decoding: all, as: UTF8.self)
    }

    package func write(_ text: String) {
        _ = Array(text.utf8).withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
    }
}
