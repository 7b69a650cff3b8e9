import Glibc

/// The reason why a small file could not be read, in words.
package struct FileProblem: Error, Equatable {
    package let reason: String

    package init(reason: String) {
        self.reason = reason
    }
}

/// Reads a small file; throws above the limit. With `waits` it may be a pipe, awaiting its writer.
package func fileContent(
    _ path: String,
    bytesMax: Int = 1 << 20,
    waits: Bool = true
) throws(FileProblem) -> [UInt8] {
    var isFile = true
    reading: do throws(SystemError) {
        let flags = O_RDONLY | O_CLOEXEC | O_NOCTTY | (waits ? 0 : O_NONBLOCK)
        let file = OwnedDescriptor(taking: try system("open") { open(path, flags) })
        if !waits {
            var facts = stat()
            _ = try system("fstat") { fstat(file.number, &facts) }
            // A directory passes here, because read() then reports a clear error.
            isFile = [S_IFREG, S_IFDIR].contains(facts.st_mode & S_IFMT)
            guard isFile else { break reading }
        }
        var content: [UInt8] = []
        let chunkBytes = 64 << 10
        while content.count <= bytesMax {
            var failure: SystemError?
            let chunk = [UInt8](unsafeUninitializedCapacity: chunkBytes) { buffer, filled in
                do throws(SystemError) {
                    filled = try system("read") {
                        read(file.number, buffer.baseAddress, chunkBytes)
                    }
                } catch {
                    failure = error
                }
            }
            if let failure { throw failure }
            if chunk.isEmpty { return content }
            content += chunk
        }
    } catch {
        throw FileProblem(reason: String(cString: strerror(error.code)))
    }
    throw FileProblem(reason: isFile ? "larger than \(bytesMax) bytes" : "not a regular file")
}

/// Replaces a file by one for this user alone, by renaming: a crash leaves the old or the new.
package func replaceFile(_ path: String, with content: [UInt8]) throws(SystemError) {
    let draft = path + ".new"
    let directory = path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "."
    // An interrupted run may have left this file.
    unlink(draft)
    do throws(SystemError) {
        let file = OwnedDescriptor(
            taking: try system("open") {
                open(draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
            }
        )
        var rest = content[...]
        while !rest.isEmpty {
            let written = try system("write") {
                rest.withUnsafeBytes { write(file.number, $0.baseAddress, $0.count) }
            }
            rest = rest.dropFirst(written)
        }
        _ = try system("fsync") { fsync(file.number) }
        _ = try system("rename") { rename(draft, path) }
        let folder = OwnedDescriptor(
            taking: try system("open") {
                open(directory.isEmpty ? "/" : directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
            }
        )
        _ = try system("fsync") { fsync(folder.number) }
    } catch {
        unlink(draft)
        throw error
    }
}

/// Identifies the content at a path without reading it. It changes with every write and every
/// rename, including a rename of a symbolic link on the path.
package struct FileStamp: Equatable, Sendable {
    private let device: UInt64
    private let inode: UInt64
    private let byteCount: Int
    /// Seconds and nanoseconds of the last write (mtime) and of the last attribute change (ctime).
    private let times: [Int]

    /// nil if there is no file, or none that this process may look at.
    package init?(of path: String) {
        var facts = stat()
        guard stat(path, &facts) == 0 else { return nil }
        device = UInt64(facts.st_dev)
        inode = UInt64(facts.st_ino)
        byteCount = Int(facts.st_size)
        times = [
            facts.st_mtim.tv_sec, facts.st_mtim.tv_nsec, facts.st_ctim.tv_sec,
            facts.st_ctim.tv_nsec,
        ]
    }
}

/// The names in a directory; none if it cannot be read.
package func fileNames(in directory: String) -> [String] {
    guard let listing = opendir(directory) else { return [] }
    defer { closedir(listing) }
    var names: [String] = []
    while let entry = readdir(listing) {
        names.append(
            withUnsafeBytes(of: &entry.pointee.d_name) {
                String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
            }
        )
    }
    return names
}
