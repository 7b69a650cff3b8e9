import Glibc
package import Logs
import System

/// A file that a destination appends to.
package struct FileTarget: Sendable, Equatable {
    package enum Compression: String, Sendable, CaseIterable {
        case none
        case gzip
        case zstd

        /// What follows an archive's name.
        var suffix: String {
            switch self {
            case .none: ""
            case .gzip: ".gz"
            case .zstd: ".zst"
            }
        }
    }

    /// When the file is put aside as an archive, and what becomes of archives.
    package struct Rotation: Sendable, Equatable {
        package var bytes: Int?
        package var age: Duration?
        /// So many archives stay, the newest.
        package var keep: Int
        package var compression = Compression.none

        package init(
            bytes: Int? = nil,
            age: Duration? = nil,
            keep: Int = .max,
            compression: Compression = .none
        ) {
            self.bytes = bytes
            self.age = age
            self.keep = keep
            self.compression = compression
        }
    }

    /// Absolute. Its directory must be there.
    package var path: String
    /// Of a file that the gateway makes.
    package var mode: UInt32 = 0o640
    package var shape = LogJSON.Shape.flat
    package var rotation = Rotation()
    package var guarded = GuardedFiles()

    package init(path: String) {
        self.path = path
    }

    var directory: String {
        let parent = path[..<(path.lastIndex(of: "/") ?? path.startIndex)]
        return parent.isEmpty ? "/" : String(parent)
    }

    /// The directory without symbolic links.
    var resolvedDirectory: String { GuardedFiles.resolvedPath(directory) }

    /// True if both name one file, by whatever path.
    package func isSameFile(as other: FileTarget) -> Bool {
        resolvedDirectory == other.resolvedDirectory && name == other.name
    }

    /// The file's name without its directory.
    var name: String {
        String(path[(path.lastIndex(of: "/").map(path.index(after:)) ?? path.startIndex)...])
    }

    /// Why the path cannot be that of a log file; nil if it can.
    package var pathProblem: String? {
        if !path.hasPrefix("/") || path.utf8.contains(0) {
            "\(path) is not an absolute path"
        } else if [".", "..", ""].contains(name) {
            "\(path) does not name a file"
        } else if name.utf8.count > Self.nameBytesMax {
            // An archive's name has 37 bytes more at most, and a file system takes 255.
            "the name has more than \(Self.nameBytesMax) bytes"
        } else {
            nil
        }
    }

    private static let nameBytesMax = 200

    /// Why nothing can be written to the file now; nil when the file, or its directory, is
    /// writable.
    var obstacle: String? {
        do throws(SystemError) {
            let flags = O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY
            _ = OwnedDescriptor(taking: try system("open") { open(path, flags) })
            return nil
        } catch {
            guard error.code == ENOENT else { return "\(path) cannot be written: \(error)" }
        }
        do throws(SystemError) {
            _ = try system("access") { access(directory, W_OK | X_OK) }
            return nil
        } catch {
            return "\(path) cannot be made in \(directory): \(error)"
        }
    }
}

/// Files that no destination may write to, by whatever name: those that other settings name, and
/// all in the data directory.
package struct GuardedFiles: Sendable, Equatable {
    package var directory: String?
    package var paths: Set<String> = []

    package init() {}

    /// Why the path must not be written to; nil if it may.
    package func reasonNotToWrite(to path: String) -> String? {
        var facts = stat()
        return reasonNotToWrite(to: Self.resolvedPath(path), stat(path, &facts) == 0 ? facts : nil)
    }

    /// Like `reasonNotToWrite(to:)`, for an open file: meanwhile its path may name another one.
    func reasonNotToWrite(to file: CInt, _ facts: stat) -> String? {
        reasonNotToWrite(to: Self.resolved("/proc/self/fd/\(file)"), facts)
    }

    private func reasonNotToWrite(to place: String?, _ facts: stat?) -> String? {
        if let directory {
            let inside = "is in data_dir"
            if let place, place.hasPrefix("\(Self.resolvedPath(directory))/") { return inside }
            // Another name of a file in the directory.
            if let facts, facts.st_nlink != 1, Self.contains(directory, facts) { return inside }
        }
        let isNamed = paths.contains { path in
            var other = stat()
            if let facts, stat(path, &other) == 0 { return Self.isSame(facts, other) }
            return Self.resolvedPath(path) == place
        }
        return isNamed ? "is a file that the configuration uses elsewhere" : nil
    }

    private static func isSame(_ one: stat, _ other: stat) -> Bool {
        one.st_dev == other.st_dev && one.st_ino == other.st_ino
    }

    private static func contains(_ directory: String, _ file: stat, depth: Int = 0) -> Bool {
        fileNames(in: directory).contains { name in
            var facts = stat()
            let path = "\(directory)/\(name)"
            guard ![".", ".."].contains(name), lstat(path, &facts) == 0 else { return false }
            guard facts.st_mode & S_IFMT == S_IFDIR else { return isSame(facts, file) }
            return depth < 3 && contains(path, file, depth: depth + 1)
        }
    }

    /// Without symbolic links; also of a file that is not there yet.
    static func resolvedPath(_ path: String) -> String {
        if let place = resolved(path) { return place }
        guard let slash = path.lastIndex(of: "/") else { return path }
        let directory = slash == path.startIndex ? "/" : String(path[..<slash])
        return (resolved(directory) ?? directory) + path[slash...]
    }

    private static func resolved(_ path: String) -> String? {
        guard let found = realpath(path, nil) else { return nil }
        defer { free(found) }
        return String(cString: found)
    }
}
