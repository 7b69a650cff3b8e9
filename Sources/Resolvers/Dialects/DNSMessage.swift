import Net
import System

/// Messages of RFC 1035: a query for one name, and the part of an answer that tells its addresses.
package enum DNSMessage {
    package enum RecordType: UInt16, Sendable {
        case a = 1
        case aaaa = 28

        static let cname: UInt16 = 5
        static let soa: UInt16 = 6
    }

    /// A query with the id 0, which caches recognise (RFC 8484 section 4.1).
    package static func query(_ name: String, _ type: RecordType) -> [UInt8]? {
        guard let wire = encoded(name) else { return nil }
        return [0, 0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0] + wire + [0, UInt8(type.rawValue), 0, 1]
    }

    /// A name as labels with their lengths.
    static func encoded(_ name: String) -> [UInt8]? {
        guard HostName.isValid(HostName.canonical(name)) else { return nil }
        var wire: [UInt8] = []
        for label in name.utf8.split(separator: UInt8(ascii: ".")) {
            wire.append(UInt8(label.count))
            wire += label
        }
        return wire + [0]
    }

    /// The addresses for the name, with the least TTL of the records that lead to them.
    package static func answer(
        in message: [UInt8],
        to name: String,
        _ type: RecordType
    ) throws(QueryFailure) -> FamilyAnswer {
        var reader = Reader(message)
        guard let head = reader.words(6) else { throw .unreadable("the DNS message is cut off") }
        let (flags, questions, records, authorities) = (head[1], head[2], head[3], head[4])
        guard flags & 0x8000 != 0, flags & 0x7800 == 0, questions == 1 else {
            throw .unreadable("the DNS message is no answer")
        }
        guard reader.name() == HostName.canonical(name), reader.words(2) == [type.rawValue, 1]
        else {
            throw .unreadable("the DNS message answers another question")
        }
        switch flags & 15 {
        case 0, 3: break
        case 2: throw .unreadable("SERVFAIL")
        case 5: throw .unreadable("REFUSED")
        case let code: throw .unreadable("DNS code \(code)")
        }
        var found = Found(HostName.canonical(name))
        for _ in 0..<records {
            guard let record = reader.record() else { throw .unreadable("a DNS record is cut off") }
            found.take(record, type, reader)
        }
        guard found.addresses.isEmpty else {
            return FamilyAnswer(found.addresses, seconds: found.seconds)
        }
        var seconds = found.seconds
        for _ in 0..<authorities {
            guard let record = reader.record() else { break }
            guard record.type == RecordType.soa else { continue }
            seconds = min(seconds, reader.negativeSeconds(record))
        }
        return FamilyAnswer([], seconds: seconds == .max ? 0 : seconds)
    }

    /// The addresses at the end of the chain of aliases. An answer lists the chain in order.
    private struct Found {
        private var name: String
        private(set) var addresses: [IPAddress] = []
        private(set) var seconds = Int.max

        init(_ name: String) {
            self.name = name
        }

        mutating func take(_ record: Reader.Record, _ type: RecordType, _ reader: Reader) {
            guard record.name == name, record.class == 1 else { return }
            switch record.type {
            case RecordType.cname:
                guard let target = reader.name(at: record.content.lowerBound) else { return }
                name = target
            case type.rawValue:
                guard let address = reader.address(record.content, type),
                    addresses.count < HostAnswer.addressesMax
                else { return }
                addresses.append(address)
            default: return
            }
            seconds = min(seconds, record.seconds)
        }
    }
}

extension DNSMessage {
    /// Reads from front to back. Nothing in a message can lead outside of it, or in circles.
    private struct Reader {
        struct Record {
            let name: String?
            let type: UInt16
            let `class`: UInt16
            let seconds: Int
            let content: Range<Int>
        }

        private let bytes: [UInt8]
        private var place = 0

        init(_ bytes: [UInt8]) {
            self.bytes = bytes
        }

        private func word(at place: Int) -> UInt16 {
            UInt16(bytes[place]) << 8 | UInt16(bytes[place + 1])
        }

        mutating func words(_ count: Int) -> [UInt16]? {
            guard place + 2 * count <= bytes.count else { return nil }
            defer { place += 2 * count }
            return (0..<count).map { word(at: place + 2 * $0) }
        }

        mutating func name() -> String? {
            guard let (name, end) = readName(at: place) else { return nil }
            place = end
            return name
        }

        func name(at place: Int) -> String? { readName(at: place)?.name }

        /// Returns the name, and the place behind it. A pointer must lead towards the front.
        private func readName(at start: Int) -> (name: String, end: Int)? {
            var labels: [String] = []
            var (place, end, length) = (start, Int?.none, 0)
            while place < bytes.count {
                let size = Int(bytes[place])
                if size == 0 {
                    return (labels.joined(separator: "."), end ?? place + 1)
                } else if size >= 0xc0 {
                    guard place + 1 < bytes.count else { return nil }
                    let target = (size & 0x3f) << 8 | Int(bytes[place + 1])
                    guard target < place else { return nil }
                    end = end ?? place + 2
                    place = target
                } else {
                    length += size + 1
                    guard size < 64, place + size < bytes.count, length < 255 else { return nil }
                    let label = bytes[place + 1...place + size]
                    guard let text = String(validating: label, as: UTF8.self) else { return nil }
                    labels.append(text.lowercased())
                    place += size + 1
                }
            }
            return nil
        }

        mutating func record() -> Record? {
            let owner = name()
            guard owner != nil, let words = words(5) else { return nil }
            let (start, size) = (place, Int(words[4]))
            guard start + size <= bytes.count else { return nil }
            place = start + size
            // The highest bit of a TTL counts as zero (RFC 2181 section 8).
            let seconds = words[2] >= 0x8000 ? 0 : Int(words[2]) << 16 | Int(words[3])
            return Record(
                name: owner,
                type: words[0],
                class: words[1],
                seconds: seconds,
                content: start..<place
            )
        }

        func address(_ content: Range<Int>, _ type: RecordType) -> IPAddress? {
            func number(_ from: Int, _ count: Int) -> UInt64 {
                bytes[from..<from + count].reduce(0) { $0 << 8 | UInt64($1) }
            }
            switch (type, content.count) {
            case (.a, 4):
                return IPAddress(v4: UInt32(truncatingIfNeeded: number(content.lowerBound, 4)))
            case (.aaaa, 16):
                let first = content.lowerBound
                return IPAddress(v6: number(first, 8), number(first + 8, 8))
            default: return nil
            }
        }

        /// How long a negative answer holds (RFC 2308 section 5): the record's TTL, or its last
        /// field if that is less.
        func negativeSeconds(_ record: Record) -> Int {
            guard record.content.count >= 20 else { return record.seconds }
            let end = record.content.upperBound
            let least = Int(word(at: end - 4)) << 16 | Int(word(at: end - 2))
            return min(record.seconds, least)
        }
    }
}
