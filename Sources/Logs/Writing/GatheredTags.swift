/// The tags of one request, in its order. The last one of a name counts.
///
/// Nothing about tags is a reason to refuse logs. Their names are treated as those of fields,
/// values that are too long are cut, and tags beyond `LogLimits.tagsGathered` are left out. The tag
/// `__truncated__` names tags that were cut or left out.
///
/// A client chooses how many there are, so they are bytes in one memory, compared and hashed as
/// bytes. They become texts once, when they are complete.
struct GatheredTags {
    private struct Tag {
        let key: Range<Int>
        var value: Range<Int>
        var isCut: Bool
        /// The first bytes of the key, which settle nearly every comparison.
        let order: UInt64
    }

    /// Up to so many are searched one by one.
    private static let few = 16

    private var bytes: [UInt8] = []
    private var gathered: [Tag] = []
    /// Their indices by their keys, once there are more than a few.
    private var byKey = ByteIndex()
    private var leftOut = NameList()

    var count: Int { gathered.count }

    /// The bytes of keys and values that the tags may have without growth.
    var capacity: Int { bytes.capacity }

    /// Forgets all tags, and keeps the memory for the next ones.
    mutating func removeAll() {
        bytes.removeAll(keepingCapacity: true)
        gathered.removeAll(keepingCapacity: true)
        byKey.removeAll()
        leftOut = NameList()
    }

    mutating func add(_ name: String, _ value: String, _ limits: LogLimits) {
        var (name, value) = (name, value)
        name.withUTF8 { name in
            value.withUTF8 { value in add(name, value, limits) }
        }
    }

    /// Adds texts that may not be UTF-8. Other bytes become U+FFFD.
    mutating func addUnchecked(
        _ name: UnsafeBufferPointer<UInt8>,
        _ value: UnsafeBufferPointer<UInt8>,
        _ limits: LogLimits
    ) {
        guard !(name.isUTF8 && value.isUTF8) else { return add(name, value, limits) }
        Self.withRepaired(name) { name in
            // One byte more than is kept shows that the value is cut, and a repaired text is never
            // shorter.
            let start = value.prefix(limits.valueBytes + UTF8Sequence.longest)
            Self.withRepaired(UnsafeBufferPointer(rebasing: start)) { add(name, $0, limits) }
        }
    }

    private static func withRepaired(
        _ text: UnsafeBufferPointer<UInt8>,
        _ body: (UnsafeBufferPointer<UInt8>) -> Void
    ) {
        let capacity = text.count * UTF8Sequence.growth
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: capacity) { out in
            guard let start = out.baseAddress else { return body(text) }
            let count = UTF8Sequence.repair(text, to: start)
            body(UnsafeBufferPointer(start: start, count: count))
        }
    }

    /// Both texts are valid UTF-8.
    mutating func add(
        _ name: UnsafeBufferPointer<UInt8>,
        _ value: UnsafeBufferPointer<UInt8>,
        _ limits: LogLimits
    ) {
        var kept = value
        let isValueCut = value.count > limits.valueBytes
        if isValueCut, let start = value.baseAddress {
            kept = UnsafeBufferPointer(
                rebasing: value[..<utf8Boundary(start, atMost: limits.valueBytes)]
            )
        }
        if !name.isEmpty, name.count <= limits.keyBytes, ReservedKey(name) == nil {
            return put(name, kept, isCut: isValueCut, limits)
        }
        let stored = FieldName.storable(
            String(decoding: name, as: UTF8.self),
            bytesMax: limits.keyBytes
        )
        let isCut = isValueCut || name.count > limits.keyBytes
        Array(stored.utf8).withUnsafeBufferPointer { put($0, kept, isCut: isCut, limits) }
    }

    private mutating func put(
        _ key: UnsafeBufferPointer<UInt8>,
        _ value: UnsafeBufferPointer<UInt8>,
        isCut: Bool,
        _ limits: LogLimits
    ) {
        let isIndexed = gathered.count > Self.few
        let hash = isIndexed ? ByteIndex.hash(key) : 0
        let known =
            isIndexed
            ? byKey.number(hash) { isKey(of: $0, key) }
            : gathered.indices.first { isKey(of: $0, key) }
        if let known {
            gathered[known].value = append(value)
            gathered[known].isCut = isCut
        } else if gathered.count < limits.tagsGathered {
            gathered.append(
                Tag(key: append(key), value: append(value), isCut: isCut, order: Self.order(key))
            )
            if isIndexed {
                byKey.insert(hash, gathered.count - 1)
            } else if gathered.count > Self.few {
                for index in gathered.indices {
                    byKey.insert(withKey(of: index) { ByteIndex.hash($0) }, index)
                }
            }
        } else {
            leftOut.add(key)
        }
    }

    private mutating func append(_ text: UnsafeBufferPointer<UInt8>) -> Range<Int> {
        let start = bytes.count
        bytes.append(contentsOf: text)
        return start..<bytes.count
    }

    private func withKey<Result>(
        of index: Int,
        _ body: (UnsafeBufferPointer<UInt8>) -> Result
    ) -> Result {
        bytes.withUnsafeBufferPointer {
            body(UnsafeBufferPointer(rebasing: $0[gathered[index].key]))
        }
    }

    private func isKey(of index: Int, _ key: UnsafeBufferPointer<UInt8>) -> Bool {
        gathered[index].key.count == key.count && withKey(of: index) { $0.hasSameBytes(as: key) }
    }

    /// The first eight bytes as a number that orders as they do; missing bytes are zero.
    private static func order(_ key: UnsafeBufferPointer<UInt8>) -> UInt64 {
        var order: UInt64 = 0
        for byte in key.prefix(8) { order = order << 8 | UInt64(byte) }
        return key.isEmpty ? 0 : order << UInt64(64 - 8 * min(key.count, 8))
    }

    /// Orders the tags by the bytes of their keys.
    mutating func sort() {
        mark()
        bytes.withUnsafeBufferPointer { bytes in
            gathered.sort { left, right in
                left.order == right.order
                    ? UnsafeBufferPointer(rebasing: bytes[left.key])
                        .precedes(UnsafeBufferPointer(rebasing: bytes[right.key]))
                    : left.order < right.order
            }
        }
    }

    /// Adds the tag that names tags that are not whole. It replaces a device's tag of that name.
    private mutating func mark() {
        var list = leftOut
        for tag in gathered where tag.isCut {
            list.add(bytes[tag.key])
        }
        guard !list.names.isEmpty else { return }
        leftOut = NameList()
        let key = Array(NameList.tag.utf8)
        key.withUnsafeBufferPointer { key in
            if let own = gathered.indices.first(where: { isKey(of: $0, key) }) {
                gathered.remove(at: own)
            }
            let value = list.names.withUnsafeBufferPointer { append($0) }
            gathered.append(
                Tag(key: append(key), value: value, isCut: false, order: Self.order(key))
            )
        }
        for index in gathered.indices { gathered[index].isCut = false }
    }

    /// The tags as the end of a LogGroup, in the order of `sort`.
    var trailer: GroupTrailer {
        var encoded: [UInt8] = []
        encoded.reserveCapacity(bytes.count + 8 * gathered.count)
        for tag in gathered {
            encoded.append(
                pairTagged: GroupTag.logTags,
                key: bytes[tag.key],
                value: bytes[tag.value]
            )
        }
        return GroupTrailer(bytes: encoded)
    }

    var tags: [(key: String, value: String)] {
        var whole = self
        whole.mark()
        return whole.gathered.map { tag in
            (
                String(decoding: whole.bytes[tag.key], as: UTF8.self),
                String(decoding: whole.bytes[tag.value], as: UTF8.self)
            )
        }
    }
}

/// Names with commas between them, up to a size, for marks such as the tag `__truncated__`: a
/// hostile log has tens of thousands of names to cut.
package struct NameList {
    package static let tag = "__truncated__"
    private static let bytesMax = 1024

    private(set) var names: [UInt8] = []
    private var isFull = false

    package init() {}

    /// Adds a name while there is room.
    package mutating func add(_ name: some Collection<UInt8>) {
        guard !isFull else { return }
        isFull = names.count + name.count > Self.bytesMax
        if isFull || !names.isEmpty { names.append(UInt8(ascii: ",")) }
        if isFull { names.append(contentsOf: "...".utf8) } else { names.append(contentsOf: name) }
    }

    /// The tags and the one that names those not whole, which replaces a device's of that name.
    package func marking(
        _ tags: [(key: String, value: String)]
    ) -> [(key: String, value: String)] {
        guard !names.isEmpty else { return tags }
        return tags.filter { !$0.key.hasSameBytes(as: Self.tag) }
            + [(Self.tag, String(decoding: names, as: UTF8.self))]
    }
}
