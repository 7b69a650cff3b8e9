@testable import Logs

/// A LogGroup, read in the obvious way: strings, arrays, one field after the other.
struct ReferenceLogGroup: Equatable {
    var topic: String?
    var source: String?
    var tags: [[String]] = []
    var logs: [Read] = []

    private struct Broken: Error {}

    init(_ tracked: TrackedLogs) throws {
        topic = tracked.topic
        source = tracked.source
        tags = tracked.tags.map { [$0.key, $0.value] }
        logs = try tracked.logs.sound.read()
    }

    init(_ body: [UInt8]) throws {
        var cut: [String: Bool] = [:]
        for (field, value) in try Self.fields(body) where 1...6 ~= field {
            guard case .bytes(let content) = value else { throw Broken() }
            switch field {
            case 1: logs.append(try Self.log(content))
            case 3: topic = try Self.short(content)
            case 4: source = try Self.short(content)
            case 6:
                let (name, value) = try Self.pair(content)
                let key = ReservedKey.storable(storableName(Self.text(name), bytesMax: 128))
                cut[key] = Self.text(name).utf8.count > 128
                if let earlier = tags.firstIndex(where: { $0[0] == key }) {
                    tags[earlier] = [key, Self.text(value)]
                } else {
                    tags.append([key, Self.text(value)])
                }
            default: continue
            }
        }
        let names = tags.map { $0[0] }.filter { cut[$0] == true }
        guard !names.isEmpty else { return }
        tags = tags.filter { $0[0] != "__truncated__" } + [["__truncated__", Self.list(names)]]
    }

    private enum Value {
        case number(UInt64), fixed32(UInt32), bytes([UInt8]), other
    }

    private static func fields(_ bytes: [UInt8]) throws -> [(Int, Value)] {
        var rest = bytes[...]
        var fields: [(Int, Value)] = []
        func varint() throws -> UInt64 {
            var value: UInt64 = 0
            for shift in stride(from: UInt64(0), to: 70, by: 7) {
                guard let byte = rest.popFirst(), shift < 63 || byte < 2 else { throw Broken() }
                value |= UInt64(byte & 0x7F) << shift
                if byte < 0x80 { return value }
            }
            throw Broken()
        }
        func take(_ count: UInt64) throws -> [UInt8] {
            guard count <= rest.count else { throw Broken() }
            defer { rest = rest.dropFirst(Int(count)) }
            return Array(rest.prefix(Int(count)))
        }
        while !rest.isEmpty {
            let tag = try varint()
            guard tag >> 3 > 0, tag >> 3 < 1 << 29 else { throw Broken() }
            let value: Value
            switch tag & 7 {
            case 0: value = .number(try varint())
            case 1:
                _ = try take(8)
                value = .other
            case 2: value = .bytes(try take(try varint()))
            case 5: value = .fixed32(try take(4).reversed().reduce(0) { $0 << 8 | UInt32($1) })
            default: throw Broken()
            }
            fields.append((Int(tag >> 3), value))
        }
        return fields
    }

    private static func pair(_ bytes: [UInt8]) throws -> (name: [UInt8], value: [UInt8]) {
        var pair: (name: [UInt8], value: [UInt8]) = ([], [])
        for (field, value) in try fields(bytes) where 1...2 ~= field {
            guard case .bytes(let text) = value else { throw Broken() }
            if field == 1 { pair.name = text } else { pair.value = text }
        }
        return pair
    }

    private static func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

    private static func short(_ bytes: [UInt8]) throws -> String {
        let text = text(bytes)
        guard text.utf8.count <= 128 else { throw Broken() }
        return text
    }

    /// As many names as fit a KiB.
    private static func list(_ names: [String]) -> String {
        var list = ""
        for name in names {
            guard list.utf8.count + name.utf8.count <= 1024 else { return list + ",..." }
            list += (list.isEmpty ? "" : ",") + name
        }
        return list
    }

    private static func log(_ bytes: [UInt8]) throws -> Read {
        var written: [(name: String, value: String, isCut: Bool, isRepaired: Bool)] = []
        func write(_ name: String, _ value: String, _ isCut: Bool, _ isRepaired: Bool) {
            written.removeAll { $0.name.utf8.elementsEqual(name.utf8) }
            written.append((name, value, isCut, isRepaired))
        }
        var seconds: UInt64?
        var nanoseconds: UInt32 = 0
        for (field, value) in try fields(bytes) {
            switch (field, value) {
            case (1, .number(let number)): seconds = number
            case (2, .bytes(let content)):
                let (name, value) = try pair(content)
                let cut = storableName(text(name), bytesMax: 128)
                let isRepaired = [name, value].contains {
                    String(validating: $0, as: UTF8.self) == nil
                }
                let isCut = text(name).utf8.count > 128
                write(ReservedKey.storable(cut), text(value), isCut, isRepaired)
            case (4, .fixed32(let number)): nanoseconds = number
            case (1, _), (2, _), (4, _): throw Broken()
            default: continue
            }
        }
        if nanoseconds >= 1_000_000_000 { nanoseconds = 0 }
        var read = Read([])
        if let seconds {
            if let whole = UInt32(exactly: seconds) {
                (read.seconds, read.nanoseconds) = (whole, nanoseconds)
            } else {
                let digits = String("\(1_000_000_000 + UInt64(nanoseconds))".dropFirst())
                let fraction = nanoseconds > 0 ? "." + digits : ""
                write("__original_time__", "\(seconds)\(fraction)", false, false)
            }
        }
        let cut = written.filter(\.isCut).map(\.name)
        let repaired = written.filter(\.isRepaired).map(\.name)
        if !cut.isEmpty { write("__truncated__", list(cut), false, false) }
        if !repaired.isEmpty { write("__invalid_utf8__", list(repaired), false, false) }
        read.fields = written.map { [$0.name, $0.value] }
        return read
    }
}
