/// The names of the log that is being written, to notice one that comes twice.
///
/// A filter of 64 bits answers for nearly all fields of usual logs. When it cannot, up to 64 names are
/// compared by their sums; beyond that they go into a hash table whose function nobody outside can
/// predict, so that a hostile body costs no more than a long one.
struct FieldNames: ~Copyable {
    private static let listed = 64

    private var filter: UInt64 = 0
    private var count = 0
    /// For each name: its sum, and where its field starts in the memory.
    private var sums: UnsafeMutablePointer<UInt64>
    private var contents: UnsafeMutablePointer<Int>
    private var capacity = Self.listed
    /// Indexes of names plus one; empty up to 64 names.
    private var table: [UInt32] = []
    /// Whether a field was replaced by a later one.
    private(set) var hasReplaced = false

    init() {
        sums = .allocate(capacity: capacity)
        contents = .allocate(capacity: capacity)
    }

    deinit {
        sums.deallocate()
        contents.deallocate()
    }

    @inline(__always)
    mutating func startLog() {
        filter = 0
        count = 0
        hasReplaced = false
        if !table.isEmpty { table = [] }
    }

    /// Takes the name of a field just written, and marks an earlier field of that name as replaced by
    /// overwriting its tag with zero.
    @inline(__always)
    mutating func add(
        _ key: UnsafeMutablePointer<UInt8>,
        _ keyCount: Int,
        content: Int,
        in memory: UnsafeMutablePointer<UInt8>
    ) {
        let sum = Self.sum(key, keyCount)
        let bit: UInt64 = 1 &<< (sum &>> 58)
        if filter & bit == 0, count < Self.listed {
            filter |= bit
            sums[count] = sum
            contents[count] = content
            count += 1
        } else {
            addSlowly(UnsafeBufferPointer(start: key, count: keyCount), sum, content, memory)
        }
    }

    @inline(never)
    private mutating func addSlowly(
        _ key: UnsafeBufferPointer<UInt8>,
        _ sum: UInt64,
        _ content: Int,
        _ memory: UnsafeMutablePointer<UInt8>
    ) {
        filter |= 1 &<< (sum &>> 58)
        if count >= Self.listed {
            if table.isEmpty { buildTable(1024, memory) }
            let slot = slot(of: key, hash: Self.hash(key), memory)
            if table[slot] > 0 { return replace(Int(table[slot]) - 1, with: content, memory) }
            append(Self.hash(key), content)
            table[slot] = UInt32(count)
            if count > table.count / 2 { buildTable(table.count * 2, memory) }
            return
        }
        for index in 0..<count where sums[index] == sum {
            if isSame(key, as: index, memory) { return replace(index, with: content, memory) }
        }
        append(sum, content)
    }

    private mutating func append(_ sum: UInt64, _ content: Int) {
        if count == capacity { grow() }
        sums[count] = sum
        contents[count] = content
        count += 1
    }

    private mutating func grow() {
        let (oldSums, oldContents) = (sums, contents)
        capacity *= 2
        sums = .allocate(capacity: capacity)
        contents = .allocate(capacity: capacity)
        sums.initialize(from: oldSums, count: count)
        contents.initialize(from: oldContents, count: count)
        oldSums.deallocate()
        oldContents.deallocate()
    }

    mutating func shrink() {
        startLog()
        guard capacity > 4096 else { return }
        capacity = Self.listed
        sums.deallocate()
        contents.deallocate()
        sums = .allocate(capacity: capacity)
        contents = .allocate(capacity: capacity)
    }

    private mutating func replace(
        _ index: Int,
        with content: Int,
        _ memory: UnsafeMutablePointer<UInt8>
    ) {
        memory[contents[index]] = 0
        contents[index] = content
        hasReplaced = true
    }

    private mutating func buildTable(_ size: Int, _ memory: UnsafeMutablePointer<UInt8>) {
        let isFirst = table.isEmpty
        table = Array(repeating: 0, count: size)
        for index in 0..<count {
            if isFirst { sums[index] = Self.hash(key(of: index, memory)) }
            var slot = Int(truncatingIfNeeded: sums[index]) & (size - 1)
            while table[slot] > 0 { slot = (slot + 1) & (size - 1) }
            table[slot] = UInt32(index + 1)
        }
    }

    /// The slot that has this name, or the empty one where it belongs.
    private func slot(
        of key: UnsafeBufferPointer<UInt8>,
        hash: UInt64,
        _ memory: UnsafeMutablePointer<UInt8>
    ) -> Int {
        var slot = Int(truncatingIfNeeded: hash) & (table.count - 1)
        while table[slot] > 0 {
            let index = Int(table[slot]) - 1
            if sums[index] == hash && isSame(key, as: index, memory) { break }
            slot = (slot + 1) & (table.count - 1)
        }
        return slot
    }

    private func isSame(
        _ key: UnsafeBufferPointer<UInt8>,
        as index: Int,
        _ memory: UnsafeMutablePointer<UInt8>
    ) -> Bool {
        let other = self.key(of: index, memory)
        return other.count == key.count && key.elementsEqual(other)
    }

    /// A name as it stands in its field: behind the field's tag and length, and its own.
    private func key(
        of index: Int,
        _ memory: UnsafeMutablePointer<UInt8>
    ) -> UnsafeBufferPointer<UInt8> {
        var place = UnsafePointer(memory + contents[index] + 1)
        _ = Varint.read(&place)
        place += 1
        let count = Varint.read(&place)
        return UnsafeBufferPointer(start: place, count: count)
    }

    /// A sum of the first and the last eight bytes and the length. Reads up to seven bytes behind the
    /// key, which are always there.
    @inline(__always)
    private static func sum(_ key: UnsafeMutablePointer<UInt8>, _ count: Int) -> UInt64 {
        let raw = UnsafeRawPointer(key)
        let first = raw.loadUnaligned(as: UInt64.self)
        var word: UInt64
        if count < 8 {
            word = first &<< UInt64(truncatingIfNeeded: 64 - 8 * count)
        } else {
            let last = raw.loadUnaligned(fromByteOffset: count - 8, as: UInt64.self)
            word = first ^ (last &* 0x9E37_79B9_7F4A_7C15)
        }
        word ^= UInt64(truncatingIfNeeded: count)
        word = (word ^ (word &>> 32)) &* 0xD6E8_FEB8_6659_FD93
        return (word ^ (word &>> 32)) &* 0xD6E8_FEB8_6659_FD93
    }

    /// SipHash with a key of this process.
    private static func hash(_ key: UnsafeBufferPointer<UInt8>) -> UInt64 {
        var hasher = Hasher()
        hasher.combine(bytes: UnsafeRawBufferPointer(key))
        return UInt64(bitPattern: Int64(hasher.finalize()))
    }
}
