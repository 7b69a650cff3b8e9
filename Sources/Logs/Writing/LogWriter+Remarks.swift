extension LogWriter {
    private static let truncated: StaticString = "__truncated__"
    private static let invalidUTF8: StaticString = "__invalid_utf8__"
    private static let clockSkew: StaticString = "__clock_skew__"
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
        let invalid = remarks.invalid.filter { memory.start[$0] != 0 }
        if !invalid.isEmpty { write(Self.invalidUTF8, namesOfFields(at: invalid)) }
        if remarks.isCorrected {
            excluded.corrected += 1
            write(Self.clockSkew, skewText)
        }
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
