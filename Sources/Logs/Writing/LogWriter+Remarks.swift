import Glibc

extension LogWriter {
    private static let truncated: StaticString = "__truncated__"
    private static let invalidUTF8: StaticString = "__invalid_utf8__"
    private static let clockSkew: StaticString = "__clock_skew__"
    /// What SLS's own collectors call a log that they could not read.
    private static let rawLog: StaticString = "__raw_log__"
    /// Bytes of the names in one mark: a hostile log has ten thousands of names to cut.
    private static let namesBytes = 1024

    /// Writes what the remarks add to the log, behind its fields. Nothing has moved yet, so fields are
    /// still where they were noted.
    mutating func writeRemarks() {
        // What came again under the same name is not in the log any more: its tag is zero.
        let oversized = remarks.oversized.filter { memory.start[$0.content] != 0 }
        if let first = oversized.first(where: { $0.what == .value }) ?? oversized.first {
            switch rules.oversize {
            case .cut: write(Self.truncated, namesOfFields(at: oversized.map(\.content)))
            case .setAside:
                let name = FieldNames.key(of: first.content, memory.start)
                remarks.setFieldFault(
                    first.what == .name
                        ? .nameTooLong(bytesMax: limits.keyBytes)
                        : .valueTooLong(field: clipped(name), bytesMax: limits.valueBytes)
                )
            }
        }
        let invalid =
            isRepaired ? replacedFields : remarks.invalid.filter { memory.start[$0] != 0 }
        if !invalid.isEmpty {
            excluded.repaired += 1
            write(Self.invalidUTF8, namesOfFields(at: invalid))
        }
        if remarks.isCorrected {
            excluded.corrected += 1
            write(Self.clockSkew, skewText)
        }
    }

    /// Writes text that is no log as one that is set aside.
    mutating func setAside(unreadable text: UnsafeBufferPointer<UInt8>, _ fault: LogFault) {
        startLog()
        uncheckedField(name: Self.rawLog, value: text)
        remarks.setFieldFault(fault)
        endLog()
    }

    /// Takes the log out again if it has a fault.
    mutating func settleRemarks(onLogAt entry: Int) {
        defer { remarks.clear() }
        if remarks.lateness != nil, rules.late == .drop {
            excluded.dropped += 1
            length = entry
        } else if let fault = remarks.lateness ?? remarks.fieldFault {
            let log = UnsafeBufferPointer(start: memory.start + entry, count: length - entry)
            excluded.setAside(log, count: 1, for: fault)
            length = entry
        }
    }

    /// Where fields start in which U+FFFD stands.
    private var replacedFields: [Int] {
        var fields: [Int] = []
        var place = UnsafePointer(memory.start + content + 1 + Varint.timeSize)
        let end = UnsafePointer(memory.start + length)
        while place < end {
            let field = place
            place += 1
            let size = Varint.read(&place)
            if field.pointee == LogTag.contents, Self.hasReplacement(place, size) {
                fields.append(field - UnsafePointer(memory.start))
            }
            place += size
        }
        return fields
    }

    private static func hasReplacement(_ text: UnsafePointer<UInt8>, _ count: Int) -> Bool {
        var place = text
        while let lead = memchr(place, 0xEF, text + count - place) {
            place = UnsafePointer(lead.assumingMemoryBound(to: UInt8.self)) + 1
            guard text + count - place >= 2 else { return false }
            if place[0] == 0xBF, place[1] == 0xBD { return true }
        }
        return false
    }

    private func namesOfFields(at contents: [Int]) -> [UInt8] {
        var list: [UInt8] = []
        for content in contents {
            let name = FieldNames.key(of: content, memory.start)
            guard list.count + name.count <= Self.namesBytes else {
                list += Array(",...".utf8)
                break
            }
            if !list.isEmpty { list.append(UInt8(ascii: ",")) }
            list += name
        }
        return list
    }

    /// One field more. It replaces what the device calls by that name.
    private mutating func write(_ name: StaticString, _ value: [UInt8]) {
        makeRoom(forBytes: name.utf8CodeUnitCount + value.count)
        value.withUnsafeBufferPointer { value in
            write(
                UnsafeBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount),
                value
            )
        }
    }

    private func clipped(_ name: UnsafeBufferPointer<UInt8>) -> String {
        guard let start = name.baseAddress, name.count > FieldName.bytesMax else {
            return String(decoding: name, as: UTF8.self)
        }
        let kept = utf8Boundary(start, atMost: FieldName.bytesMax)
        return String(decoding: name[..<kept], as: UTF8.self) + "..."
    }
}
