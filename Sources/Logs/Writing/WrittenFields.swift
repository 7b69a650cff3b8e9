import Glibc

/// The fields of the log that is being written, as they stand in the writer's memory.
struct WrittenFields {
    /// The most bytes of names in one mark: a hostile log has tens of thousands of names to cut.
    private static let namesBytes = 1024

    let memory: UnsafeMutablePointer<UInt8>
    let start: Int
    let end: Int

    /// True when a later field has the same name: its tag is zero then.
    func isReplaced(at content: Int) -> Bool { memory[content] == 0 }

    /// The names of these fields as a list for a mark.
    func names(at contents: [Int]) -> [UInt8] {
        var list: [UInt8] = []
        for content in contents {
            let name = FieldNames.key(of: content, memory)
            guard list.count + name.count <= Self.namesBytes else {
                list += Array(",...".utf8)
                break
            }
            if !list.isEmpty { list.append(UInt8(ascii: ",")) }
            list += name
        }
        return list
    }

    func clippedName(at content: Int) -> String {
        let name = FieldNames.key(of: content, memory)
        guard let start = name.baseAddress, name.count > FieldName.bytesMax else {
            return String(decoding: name, as: UTF8.self)
        }
        let kept = utf8Boundary(start, atMost: FieldName.bytesMax)
        return String(decoding: name[..<kept], as: UTF8.self) + "..."
    }

    /// Where fields start that have a U+FFFD.
    var withReplacementCharacter: [Int] {
        var fields: [Int] = []
        var pointer = UnsafePointer(memory + start)
        let end = UnsafePointer(memory + self.end)
        while pointer < end {
            let field = pointer
            pointer += 1
            let size = Varint.read(&pointer)
            if field.pointee == LogTag.contents, Self.hasReplacementCharacter(pointer, size) {
                fields.append(field - UnsafePointer(memory))
            }
            pointer += size
        }
        return fields
    }

    private static func hasReplacementCharacter(
        _ text: UnsafePointer<UInt8>,
        _ count: Int
    ) -> Bool {
        var pointer = text
        while let lead = memchr(pointer, 0xEF, text + count - pointer) {
            pointer = UnsafePointer(lead.assumingMemoryBound(to: UInt8.self)) + 1
            guard text + count - pointer >= 2 else { return false }
            if pointer[0] == 0xBF, pointer[1] == 0xBD { return true }
        }
        return false
    }

    /// Closes the gaps of replaced fields in one pass, and returns where the fields end then.
    @inline(never)
    func closeGaps() -> Int {
        var source = UnsafePointer(memory + start)
        let end = UnsafePointer(memory + self.end)
        var pointer = memory + start
        while source < end {
            let field = source
            source += 1
            let size = Varint.read(&source)
            source += size
            guard field.pointee == LogTag.contents else { continue }
            let count = source - field
            pointer.update(from: field, count: count)
            pointer += count
        }
        return pointer - memory
    }
}
