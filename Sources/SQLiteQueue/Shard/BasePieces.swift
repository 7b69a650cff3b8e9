import Glibc
import SQLite
import System

/// The file of a base, in pieces for the commit log.
final class BasePieces {
    private static let pieceBytes = 512 << 10

    private let path: String
    private let file: OwnedDescriptor
    private var bytes: UInt64 = 0

    init(_ path: String) throws(SQLiteError) {
        self.path = path
        do throws(SystemError) {
            file = OwnedDescriptor(taking: try system("open") { open(path, O_RDONLY | O_CLOEXEC) })
        } catch {
            throw .system(error, path)
        }
    }

    /// The body of the base's last commit: the number of bytes in all pieces, little-endian.
    var trailer: [UInt8] { Self.trailer(bytes) }

    static func trailer(_ bytes: UInt64) -> [UInt8] {
        (0..<8).map { UInt8(truncatingIfNeeded: bytes >> UInt64(8 * $0)) }
    }

    /// nil: that was the last one.
    func next() throws(SQLiteError) -> [UInt8]? {
        let number = file.number
        var failure: SystemError?
        let piece = [UInt8](unsafeUninitializedCapacity: Self.pieceBytes) { buffer, filled in
            do throws(SystemError) {
                filled = try system("read") { read(number, buffer.baseAddress, buffer.count) }
            } catch {
                failure = error
            }
        }
        if let failure { throw .system(failure, path) }
        bytes += UInt64(piece.count)
        return piece.isEmpty ? nil : piece
    }
}
