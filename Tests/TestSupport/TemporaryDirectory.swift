import Glibc
import System

/// A directory for one test, removed with its content when the value goes away.
package final class TemporaryDirectory: Sendable {
    package let path: String
    /// The path up to the random part of the name.
    private let prefix: String
    private let ends = Locked<[@Sendable () -> Void]>([])

    package init(prefix: String = "/tmp/sluice-test-") {
        self.prefix = prefix
        var template = Array("\(prefix)XXXXXX".utf8CString)
        guard let made = mkdtemp(&template) else {
            preconditionFailure("\(prefix)XXXXXX cannot be made: errno \(errno)")
        }
        path = String(cString: made)
    }

    deinit {
        for end in ends.withLock({ $0 }).reversed() { end() }
        remove()
    }

    /// Runs before the directory goes away with the value: what is open there must be closed.
    package func atEnd(_ body: @escaping @Sendable () -> Void) {
        ends.withLock { $0.append(body) }
    }

    /// Removes the directory before the value goes away.
    package func remove() {
        Self.remove(path)
    }

    /// The names in the directory, sorted.
    package var names: [String] { Self.names(in: path) }

    package static func names(in path: String) -> [String] {
        guard let listing = opendir(path) else { return [] }
        defer { closedir(listing) }
        var names: [String] = []
        while let entry = readdir(listing) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) {
                String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names.sorted()
    }

    private static func remove(_ path: String) {
        // A link to a directory is not followed.
        if unlink(path) == 0 { return }
        for name in names(in: path) { remove("\(path)/\(name)") }
        rmdir(path)
    }
}

// MARK: - Files

extension TemporaryDirectory {
    /// Writes a file in place and returns its path.
    @discardableResult
    package func file(_ name: String, _ content: String) -> String {
        file(name, Array(content.utf8))
    }

    @discardableResult
    package func file(_ name: String, _ content: [UInt8]) -> String {
        let path = "\(path)/\(name)"
        writeFile(path, content)
        return path
    }

    /// Writes another file and renames it, so a reader sees the old content or the new one.
    @discardableResult
    package func replace(_ name: String, _ content: String) -> String {
        let next = file("\(name).new", content)
        let path = "\(path)/\(name)"
        precondition(rename(next, path) == 0, "\(next) cannot be renamed: errno \(errno)")
        return path
    }

    /// A copy of the files as a crash at this moment would leave them.
    package func copy() -> TemporaryDirectory {
        let copy = TemporaryDirectory(prefix: prefix)
        // SQLite's shared memory does not survive a crash.
        for name in names where !name.hasSuffix("-shm") {
            copy.file(name, readFile("\(path)/\(name)"))
        }
        return copy
    }
}

/// The content of a file; empty when there is none.
package func readFile(_ path: String) -> [UInt8] {
    guard let file = fopen(path, "r") else { return [] }
    defer { fclose(file) }
    var about = stat()
    fstat(fileno(file), &about)
    var bytes = [UInt8](repeating: 0, count: Int(about.st_size))
    let count = fread(&bytes, 1, bytes.count, file)
    return Array(bytes.prefix(count))
}

package func writeFile(_ path: String, _ bytes: [UInt8]) {
    guard let file = fopen(path, "w") else {
        preconditionFailure("\(path) cannot be written: errno \(errno)")
    }
    defer { fclose(file) }
    fwrite(bytes, 1, bytes.count, file)
}
