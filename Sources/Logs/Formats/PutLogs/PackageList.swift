/// The packages of a batch_group body (facts 1.5): `SlsLogPackageList`, whose packages have `data`
/// (1), `uncompress_size` (2) and `compress_type` (3).
struct PackageList {
    /// A LogGroup as it travels.
    struct Package {
        fileprivate(set) var data: Range<Int>
        fileprivate(set) var rawBytes: Int?
        /// Nil when it is not compressed.
        fileprivate(set) var coding: ContentCoding?
    }

    private let body: UnsafeRawBufferPointer
    private let packagesMax: Int
    private var fields: ProtobufReader
    private var count = 0
    private let limit: InflateLimit
    /// The most content of all packages together, however the body is cut into them.
    private let bytesMax: Int
    private var bytesLeft: Int

    init(_ body: UnsafeRawBufferPointer, limits: LogLimits, _ limit: InflateLimit) {
        self.body = body
        packagesMax = limits.packages
        fields = ProtobufReader(body)
        self.limit = limit
        bytesMax = limit.allowance(for: body.count)
        bytesLeft = bytesMax
    }

    mutating func next() throws(LogDecodingError) -> Package? {
        do throws(ProtobufError) {
            while true {
                let start = fields.position
                guard let field = try fields.next() else { return nil }
                switch field {
                case (1, .bytes(let range)):
                    guard count < packagesMax else {
                        throw fields.fault(start, "the body has more than \(packagesMax) packages")
                    }
                    count += 1
                    return try package(in: range)
                case (1, _): throw fields.wrongType(1, of: "SlsLogPackageList", at: start)
                default: continue
                }
            }
        } catch {
            throw LogDecodingError(position: error.position, reason: error.reason)
        }
    }

    private func package(in range: Range<Int>) throws(ProtobufError) -> Package {
        // No compress_type means lz4.
        var package = Package(data: range.lowerBound..<range.lowerBound, coding: .lz4)
        var fields = ProtobufReader(body, in: range)
        while true {
            let start = fields.position
            guard let field = try fields.next() else { return package }
            switch field {
            case (1, .bytes(let data)): package.data = data
            case (2, .number(let size)):
                guard let size = Int32(exactly: size) else {
                    throw fields.fault(start, "uncompress_size is none that a package can have")
                }
                package.rawBytes = Int(size)
            case (3, .number(0)): package.coding = nil
            case (3, .number(1)): package.coding = .deflate
            case (3, .number(2)): package.coding = .lz4
            case (3, .number(3)): package.coding = .zstd
            case (3, .number): throw fields.fault(start, "compress_type must be 0, 1, 2 or 3")
            case (1...3, _): throw fields.wrongType(field.field, of: "SlsLogPackage", at: start)
            default: continue
            }
        }
    }

    /// The LogGroup of a package, valid until the inflater's next call.
    mutating func content(
        of package: Package,
        _ inflater: Inflater
    ) throws(LogDecodingError) -> UnsafeRawBufferPointer {
        var content = UnsafeRawBufferPointer(rebasing: body[package.data])
        do throws(InflateError) {
            if let coding = package.coding {
                var limit = limit
                limit.bytes = bytesLeft
                content = try inflater.inflate(
                    content,
                    coding,
                    rawBytes: package.rawBytes,
                    limit: limit
                )
            } else if content.count > bytesLeft {
                throw .tooLarge(limit: bytesMax)
            }
        } catch {
            throw fault(package, at: 0, sentence(error), error.kind)
        }
        bytesLeft -= content.count
        return content
    }

    func fault(
        _ package: Package,
        at position: Int,
        _ reason: String,
        _ kind: LogDecodingError.Kind = .unreadable
    ) -> LogDecodingError {
        LogDecodingError(
            // A position in compressed content is not known.
            position: package.data.lowerBound + (package.coding == nil ? position : 0),
            reason: "package \(count): \(reason)",
            kind: kind
        )
    }

    private func sentence(_ error: InflateError) -> String {
        switch error {
        case .tooLarge: "the packages hold more than \(bytesMax) bytes; send smaller batches"
        case .suspiciousRatio(let ratio): "it inflates more than \(ratio)-fold"
        case .corrupt(let reason): reason
        case .noMemory: "\(error)"
        case .sizeMissing: "an lz4 package needs uncompress_size, the size of its content"
        case .sizeMismatch(let declared, _): "it does not hold the \(declared) bytes it should"
        }
    }
}

extension InflateError {
    fileprivate var kind: LogDecodingError.Kind {
        switch self {
        case .tooLarge, .suspiciousRatio: .tooLarge
        case .corrupt, .sizeMismatch, .sizeMissing: .notInflatable
        case .noMemory: .noMemory
        }
    }
}
