/// The names of the log that is being written, to notice one that comes twice.
///
/// A filter of 64 bits answers for nearly all fields of usual logs. When it cannot, up to 64 names
/// are compared by their sums. Beyond that an index, whose hash function an attacker cannot
/// predict, makes a hostile body cost no more than a long one. The index has a bound: a log with
/// more names is crowded, and its further names are not checked.
struct FieldNames: ~Copyable {
    private static let listed = 64

    private static let marks = 8

    private let namesMax: Int
    /// Room for the marks that an earlier reading of the logs wrote.
    private var marksRead = 0
    /// How many names the log may have now.
    private var limit: Int
    /// Makes the sums of names unpredictable for clients.
    private let seed = UInt64.random(in: .min ... .max) | 1
    private var filter: UInt64 = 0
    private var count = 0
    /// For each listed name: its sum, and where its field starts in the memory.
    private let sums: UnsafeMutablePointer<UInt64>
    private let contents: UnsafeMutablePointer<Int>
    /// All names of a log that has more, by where their fields start.
    private var many = ByteIndex()
    /// True when a field was replaced by a later one.
    private(set) var hasReplaced = false
    /// True when the log has more different names than it may.
    private(set) var isCrowded = false

    init(atMost namesMax: Int) {
        self.namesMax = namesMax
        limit = namesMax
        sums = .allocate(capacity: Self.listed)
        contents = .allocate(capacity: Self.listed)
    }

    deinit {
        sums.deallocate()
        contents.deallocate()
    }

    /// Begins a body. Logs that were read before have the gateway's marks among their fields.
    mutating func startBody(readBefore: Bool) {
        marksRead = readBefore ? Self.marks : 0
        limit = namesMax + marksRead
    }

    @inline(__always)
    mutating func startLog() {
        filter = 0
        hasReplaced = false
        if count == Self.listed {
            many.removeAll(keeping: 4096)
            isCrowded = false
            limit = namesMax + marksRead
        }
        count = 0
    }

    /// Begins the gateway's own marks, which have room beyond the names that a log may bring.
    mutating func startMarks() {
        guard count == Self.listed else { return }
        limit = namesMax + marksRead + Self.marks
    }

    /// Adds the name of a field just written. An earlier field of that name is marked as replaced:
    /// its tag becomes zero. If it stood at the same place, it is gone already.
    @inline(__always)
    mutating func add(
        _ key: UnsafeMutablePointer<UInt8>,
        _ keyCount: Int,
        content: Int,
        in memory: UnsafeMutablePointer<UInt8>
    ) {
        let sum = Self.sum(key, keyCount, seed)
        let bit: UInt64 = 1 &<< (sum &>> 58)
        if filter & bit == 0, count < Self.listed {
            filter |= bit
            sums[count] = sum
            contents[count] = content
            count += 1
        } else {
            let name = UnsafeBufferPointer(start: key, count: keyCount)
            addSlowly(name, sum, content: content, in: memory)
        }
    }

    @inline(never)
    private mutating func addSlowly(
        _ key: UnsafeBufferPointer<UInt8>,
        _ sum: UInt64,
        content: Int,
        in memory: UnsafeMutablePointer<UInt8>
    ) {
        guard count < Self.listed else { return addToMany(key, content, memory) }
        for index in 0..<count where sums[index] == sum {
            guard key.hasSameBytes(as: Self.key(of: contents[index], memory)) else { continue }
            if contents[index] != content {
                memory[contents[index]] = 0
                hasReplaced = true
            }
            contents[index] = content
            return
        }
        filter |= 1 &<< (sum &>> 58)
        sums[count] = sum
        contents[count] = content
        count += 1
    }

    private mutating func addToMany(
        _ key: UnsafeBufferPointer<UInt8>,
        _ content: Int,
        _ memory: UnsafeMutablePointer<UInt8>
    ) {
        if many.count == 0 {
            for content in UnsafeBufferPointer(start: contents, count: count) {
                many.insert(ByteIndex.hash(Self.key(of: content, memory)), content)
            }
        }
        guard many.count < limit else {
            isCrowded = true
            return
        }
        let hash = ByteIndex.hash(key)
        let earlier = many.number(hash) { key.hasSameBytes(as: Self.key(of: $0, memory)) }
        guard let earlier else { return many.insert(hash, content) }
        guard earlier != content else { return }
        many.replace(earlier, hash, by: content)
        memory[earlier] = 0
        hasReplaced = true
    }

    /// A name as it stands in its field: behind the tags and lengths of the field and of itself.
    static func key(
        of content: Int,
        _ memory: UnsafeMutablePointer<UInt8>
    ) -> UnsafeBufferPointer<UInt8> {
        var pointer = UnsafePointer(memory + content + 1)
        _ = Varint.read(&pointer)
        pointer += 1
        let count = Varint.read(&pointer)
        return UnsafeBufferPointer(start: pointer, count: count)
    }

    /// A sum of all bytes and the length. Reads up to seven bytes behind the key: always there.
    @inline(__always)
    private static func sum(
        _ key: UnsafeMutablePointer<UInt8>,
        _ count: Int,
        _ seed: UInt64
    ) -> UInt64 {
        let raw = UnsafeRawPointer(key)
        let first = raw.loadUnaligned(as: UInt64.self)
        var word: UInt64
        if count < 8 {
            word = first &<< UInt64(truncatingIfNeeded: 64 - 8 * count)
        } else {
            let last = raw.loadUnaligned(fromByteOffset: count - 8, as: UInt64.self)
            word = first ^ (last &* seed)
            if count > 16 { word ^= inner(raw, count, seed) }
        }
        word ^= UInt64(truncatingIfNeeded: count)
        word = (word ^ (word &>> 32)) &* 0xD6E8_FEB8_6659_FD93
        return (word ^ (word &>> 32)) &* 0xD6E8_FEB8_6659_FD93
    }

    /// The sum of the bytes between the first and the last eight of a long name.
    @inline(never)
    private static func inner(_ raw: UnsafeRawPointer, _ count: Int, _ seed: UInt64) -> UInt64 {
        var sum: UInt64 = 0
        var offset = 8
        while offset < count - 8 {
            let word = raw.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
            sum = (sum ^ word) &* seed
            sum ^= sum &>> 32
            offset += 8
        }
        return sum
    }
}
