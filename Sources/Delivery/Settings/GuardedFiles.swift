import Glibc
import System

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
