@testable import NATS

/// What a NATS server sends. The first byte of an input chooses how the others are cut.
enum NATSEntry: FuzzEntry {
    static let name = "nats"

    /// The buffer, and room for the largest message that an input can announce.
    private static let heldBytesMax = NATSParser.payloadMax + 1 << 20

    static func run(_ bytes: [UInt8]) throws(Contradiction) {
        guard let first = bytes.first else { return }
        let bytes = Array(bytes.dropFirst())
        let whole = try Reading(bytes, pieces: bytes.count)
        let single = try Reading(bytes, pieces: 1)
        try check(whole == single, "cuts make a difference: \(whole), \(single)")
        let cut = try Reading(bytes, pieces: 2 + Int(first))
        try check(whole == cut, "cuts make a difference: \(whole), \(cut)")
        for operation in whole.operations { try checkContent(operation, of: bytes) }
    }

    private static func checkContent(
        _ operation: NATSParser.Operation,
        of bytes: [UInt8]
    ) throws(Contradiction) {
        switch operation {
        case .message(let message, _):
            let size = message.head.count + message.body.count
            try check(size <= bytes.count, "a message of more bytes than came")
            try check(!message.subject.isEmpty, "a message without a subject")
            // Neither may trap.
            _ = (message.status, message.statusText)
        case .info(let text):
            guard let info = try? ServerInfo(text) else { return }
            try check(info.payloadMax > 0, "a server that takes nothing")
            try check(info.version.count <= 64 && info.name.count <= 128, "long texts are kept")
            try check(info.others.count <= 64, "too many servers are kept")
            for other in info.others {
                let again = NATSServerAddress(other.description)
                try check(again == other, "\(other) is another address when read again")
            }
            _ = ServerVersion(info.version)
        case .error(let text): try check(text.utf8.count <= 1500, "a long text is kept")
        case .ping, .pong, .ok: break
        }
    }

    private struct Reading: Equatable {
        var operations: [NATSParser.Operation] = []
        var error: NATSError?
        var isEmpty = true

        init(_ bytes: [UInt8], pieces size: Int) throws(Contradiction) {
            var parser = NATSParser()
            var from = 0
            do throws(NATSError) {
                while from < bytes.count {
                    parser.append { room in
                        let count = min(size, room.count, bytes.count - from)
                        room.copyBytes(from: bytes[from..<from + count])
                        from += count
                        return count
                    }
                    while let operation = try parser.next() { operations.append(operation) }
                }
                isEmpty = parser.isEmpty
            } catch {
                self.error = error
            }
            try check(parser.byteCount <= NATSEntry.heldBytesMax, "more is held than may be")
        }
    }
}
