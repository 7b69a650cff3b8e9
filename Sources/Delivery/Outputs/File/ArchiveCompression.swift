import Glibc
import Logs
import System

/// Compresses an archive step by step, so that packets need not wait for it. The archive is
/// replaced once its compressed form is safe.
final class ArchiveCompression {
    private let path: String
    private let compressed: String
    private let partial: String
    private let directory: String
    private let calls: FileCalls
    private let source: OwnedDescriptor
    private let sink: OwnedDescriptor
    private var stream: StreamCompressor

    private static let stepBytes = 1 << 20

    init(_ path: String, _ target: FileTarget, _ calls: FileCalls) throws(SystemError) {
        let format = target.rotation.compression
        self.path = path
        self.calls = calls
        directory = target.directory
        let compressed = path + format.suffix
        let partial = compressed + ArchiveName.partial
        (self.compressed, self.partial) = (compressed, partial)
        let flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC
        let reading = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK
        source = OwnedDescriptor(taking: try system("open") { open(path, reading) })
        sink = OwnedDescriptor(taking: try system("open") { open(partial, flags, target.mode) })
        // zlib's and zstd's usual levels: archives are written once and kept long.
        stream =
            format == .gzip
            ? StreamCompressor(.gzip, level: 6) : StreamCompressor(.zstd, level: 3)
    }

    deinit { unlink(partial) }

    /// Compresses the next part; true when the archive is replaced.
    func advance() throws(SystemError) -> Bool {
        let part = [UInt8](unsafeUninitializedCapacity: Self.stepBytes) { buffer, filled in
            filled = max(0, read(source.number, buffer.baseAddress, Self.stepBytes))
        }
        guard part.isEmpty else {
            try write(part.withUnsafeBytes { stream.append($0) })
            return false
        }
        try checkEnd()
        try write(stream.finish())
        _ = try system("fdatasync") { calls.sync(sink.number) }
        _ = try system("rename") { calls.rename(partial, compressed) }
        try calls.syncDirectory(directory)
        _ = try system("unlink") { unlink(path) }
        return true
    }

    /// A failed read must not pass for the end.
    private func checkEnd() throws(SystemError) {
        var facts = stat()
        _ = try system("fstat") { fstat(source.number, &facts) }
        let position = try system("lseek") { lseek(source.number, 0, SEEK_CUR) }
        guard position == facts.st_size else { throw SystemError(call: "read", code: EIO) }
    }

    private func write(_ bytes: [UInt8]) throws(SystemError) {
        let result = bytes.withUnsafeBytes { bytes in
            Result { () throws(SystemError) in try calls.write(all: bytes, to: sink.number) }
        }
        try result.get()
    }
}
