extension JSONLogWalk {
    private static let truncated: StaticString = "__truncated__"
    private static let clockSkew: StaticString = "__clock_skew__"
    /// Bytes of the names in `__truncated__`: a hostile log has ten thousands of names to cut.
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

    /// What is stored instead of an empty name or one that is too long, in its place.
    @inline(never)
    func storableName(_ offset: Int, _ count: Int) -> Int {
        let name = memory.start + offset
        guard count == 0 else {
            return rules.oversize == .cut
                ? FieldName.cut(name, count, to: limits.keyBytes) : count
        }
        let empty = FieldName.empty
        name.update(from: empty.utf8Start, count: empty.utf8CodeUnitCount)
        return empty.utf8CodeUnitCount
    }

    /// How much is stored of a value that is too long.
    @inline(never)
    func storableValue(_ offset: Int, _ count: Int) -> Int {
        rules.oversize == .cut
            ? utf8Boundary(memory.start + offset, atMost: limits.valueBytes) : count
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
        let start = memory.start
        let size =
            2 + Varint.size(name.utf8CodeUnitCount) + name.utf8CodeUnitCount
            + Varint.size(value.count) + value.count
        var place = start + length
        place.pointee = LogTag.contents
        place = Varint.write(size, to: place + 1)
        place.pointee = PairTag.key
        let key = Varint.write(name.utf8CodeUnitCount, to: place + 1)
        key.update(from: name.utf8Start, count: name.utf8CodeUnitCount)
        place = key + name.utf8CodeUnitCount
        place.pointee = PairTag.value
        place = Varint.write(value.count, to: place + 1)
        place.update(from: value, count: value.count)
        names.add(key, name.utf8CodeUnitCount, content: length, in: start)
        length = place - start + value.count
    }

    private func clipped(_ name: UnsafeBufferPointer<UInt8>) -> String {
        guard let start = name.baseAddress, name.count > FieldName.bytesMax else {
            return String(decoding: name, as: UTF8.self)
        }
        let kept = utf8Boundary(start, atMost: FieldName.bytesMax)
        return String(decoding: name[..<kept], as: UTF8.self) + "..."
    }
}
