import Glibc
import System

/// Files that no destination may write to, by whatever name: those that other settings name, and all in the data
/// directory.
package struct GuardedFiles: Sendable, Equatable {
    package var directory: String?
    package var paths: Set<String> = []

    package init() {}

    /// Why the path must not be written to; nil if it may.
    package func claim(on path: String) -> String? {
        var facts = stat()
        return claim(on: Self.place(of: path), stat(path, &facts) == 0 ? facts : nil)
    }

    /// Like `claim(on:)`, for an open file: meanwhile its path may name another one.
    func claim(on file: CInt, _ facts: stat) -> String? {
        claim(on: Self.resolved("/proc/self/fd/\(file)"), facts)
    }

    private func claim(on place: String?, _ facts: stat?) -> String? {
        if let directory {
            let inside = "is in data_dir"
            if let place, place.hasPrefix("\(Self.place(of: directory))/") { return inside }
            // Another name of a file in the directory.
            if let facts, facts.st_nlink != 1, Self.isFile(facts, in: directory) { return inside }
        }
        let isNamed = paths.contains { path in
            var other = stat()
            if let facts, stat(path, &other) == 0 { return Self.isSame(facts, other) }
            return Self.place(of: path) == place
        }
        return isNamed ? "is a file that the configuration uses elsewhere" : nil
    }

    private static func isSame(_ one: stat, _ other: stat) -> Bool {
        one.st_dev == other.st_dev && one.st_ino == other.st_ino
    }

    private static func isFile(_ file: stat, in directory: String, depth: Int = 0) -> Bool {
        fileNames(in: directory).contains { name in
            var facts = stat()
            let path = "\(directory)/\(name)"
            guard ![".", ".."].contains(name), lstat(path, &facts) == 0 else { return false }
            guard facts.st_mode & S_IFMT == S_IFDIR else { return isSame(facts, file) }
            return depth < 3 && isFile(file, in: path, depth: depth + 1)
        }
    }

    /// Without symbolic links; also of a file that is not there yet.
    private static func place(of path: String) -> String {
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
