import System

/// One entry of the commit log: a transaction, a piece of a base or a marker, or one part of it.
/// Little-endian:
///
///     magic "SLQL", format 1, kind, 2 spare bytes, schema u32,
///     writer u64, epoch u64, commit u64, part u32, parts u32,
///     CRC-32C of the bytes before it and of the body, u32; the body
package struct CommitEntry: Equatable, Sendable {
    package enum Kind: UInt8, Sendable {
        case changes = 1
        /// A writer begins. The fence refuses all later appends of earlier epochs.
        case epoch = 2
        /// A copy of the database follows in pieces. When it is whole, earlier entries are
        /// dispensable.
        case baseBegins = 3
        case baseChunk = 4
        case baseEnds = 5
        /// A decision of an operator, in a log of its own that all gateways of a cluster write.
        case decision = 6
    }

    package var kind: Kind
    /// The version of the tables that the body belongs to.
    package var schema: UInt32
    package var id: AppendID
    /// From 0.
    package var part: UInt32
    package var parts: UInt32
    package var body: ArraySlice<UInt8>

    static let headBytes = 48
    /// Bounds a commit: a damaged or hostile log cannot make a reader gather more.
    package static let partsMax = 256
    /// Commits and epochs begin with 1, and never come near this.
    static let highestNumber = UInt64(1) << 62
    private static let magic: UInt32 = 0x4C51_4C53
    private static let format: UInt8 = 1

    package init(
        _ kind: Kind,
        schema: UInt32,
        id: AppendID,
        part: UInt32 = 0,
        parts: UInt32 = 1,
        body: ArraySlice<UInt8> = []
    ) {
        self.kind = kind
        self.schema = schema
        self.id = id
        self.part = part
        self.parts = parts
        self.body = body
    }
}

// MARK: - Bytes

extension CommitEntry {
    package var bytes: [UInt8] {
        [UInt8](unsafeUninitializedCapacity: Self.headBytes + body.count) { buffer, count in
            let bytes = UnsafeMutableRawBufferPointer(buffer)
            bytes.store(Self.magic, at: 0)
            bytes.store(Self.format, at: 4)
            bytes.store(kind.rawValue, at: 5)
            bytes.store(UInt16(0), at: 6)
            bytes.store(schema, at: 8)
            bytes.store(id.writer, at: 12)
            bytes.store(id.epoch, at: 20)
            bytes.store(id.commit, at: 28)
            bytes.store(part, at: 36)
            bytes.store(parts, at: 40)
            body.withUnsafeBytes { body in
                bytes[Self.headBytes...].copyBytes(from: body)
                bytes.store(Self.checksum(UnsafeRawBufferPointer(bytes)), at: 44)
            }
            count = bytes.count
        }
    }

    /// Throws if any byte differs from what was written, or if a newer version wrote it.
    package init(_ bytes: [UInt8]) throws(CommitLogError) {
        var entry = try bytes.withUnsafeBytes { Self.read($0) }.get()
        entry.body = bytes[Self.headBytes...]
        self = entry
    }

    private static func read(
        _ bytes: UnsafeRawBufferPointer
    ) -> Result<CommitEntry, CommitLogError> {
        let damage = CommitLogError.damaged("an entry of \(bytes.count) bytes cannot be read")
        guard bytes.count >= headBytes, bytes.load(UInt32.self, at: 0) == magic,
            bytes.load(UInt32.self, at: 44) == checksum(bytes)
        else { return .failure(damage) }
        let format = bytes[4]
        guard format == Self.format, let kind = Kind(rawValue: bytes[5]) else {
            let text =
                "an entry has format \(format) and kind \(bytes[5]), which this version does not know"
            return .failure(.newer(text))
        }
        let id = AppendID(
            writer: bytes.load(UInt64.self, at: 12),
            epoch: bytes.load(UInt64.self, at: 20),
            commit: bytes.load(UInt64.self, at: 28)
        )
        let (part, parts) = (bytes.load(UInt32.self, at: 36), bytes.load(UInt32.self, at: 40))
        guard part < parts, parts <= partsMax, (1...highestNumber).contains(id.commit),
            (1...highestNumber).contains(id.epoch)
        else { return .failure(damage) }
        let schema = bytes.load(UInt32.self, at: 8)
        return .success(CommitEntry(kind, schema: schema, id: id, part: part, parts: parts))
    }

    /// The checksum of everything but itself.
    private static func checksum(_ bytes: UnsafeRawBufferPointer) -> UInt32 {
        let head = CRC32C.checksum(of: UnsafeRawBufferPointer(rebasing: bytes[..<44]))
        let body = UnsafeRawBufferPointer(rebasing: bytes[headBytes...])
        return CRC32C.checksum(of: body, after: head)
    }
}

extension UnsafeMutableRawBufferPointer {
    fileprivate func store<Number: FixedWidthInteger>(_ number: Number, at offset: Int) {
        storeBytes(of: number.littleEndian, toByteOffset: offset, as: Number.self)
    }
}

extension UnsafeRawBufferPointer {
    fileprivate func load<Number: FixedWidthInteger & BitwiseCopyable>(
        _ type: Number.Type,
        at offset: Int
    ) -> Number {
        Number(littleEndian: loadUnaligned(fromByteOffset: offset, as: type))
    }
}
