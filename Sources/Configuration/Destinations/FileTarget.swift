package import Glibc
package import System

/// A file that a destination appends to.
package struct FileTarget: Sendable, Equatable {
    package enum Compression: String, Sendable, CaseIterable {
        case none
        case gzip
        case zstd

        /// What follows an archive's name.
        package var suffix: String {
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
        package var keep = 10
        package var compression = Compression.none
    }

    /// Absolute. Its directory must be there.
    package var path: String
    /// Of a file that the gateway makes.
    package var mode: UInt32 = 0o640
    package var rotation = Rotation()
    package var guarded = GuardedFiles()

    package init(path: String) {
        self.path = path
    }

    package var directory: String {
        let parent = path[..<(path.lastIndex(of: "/") ?? path.startIndex)]
        return parent.isEmpty ? "/" : String(parent)
    }

    /// The directory without symbolic links.
    private var resolvedDirectory: String { GuardedFiles.resolvedPath(directory) }

    /// True if both name one file, by whatever path.
    func isSameFile(as other: FileTarget) -> Bool {
        resolvedDirectory == other.resolvedDirectory && name == other.name
    }

    /// The file's name without its directory.
    package var name: String {
        String(path[(path.lastIndex(of: "/").map(path.index(after:)) ?? path.startIndex)...])
    }

    /// Why the path cannot be that of a log file; nil if it can.
    var pathProblem: String? {
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
}

/// What only a destination of kind file has.
extension FileTarget: SettingGroup {
    init() { self.init(path: "") }

    static var settings: [Setting<FileTarget>] {
        Setting("path", \.givenPath, .path) {
            "`/var/log/sluice/archive.ndjson`, to which a log a line is appended"
        }
        .default("required")
        Setting(group: "rotate", \.rotation)
    }

    private var givenPath: String? {
        get { path.isEmpty ? nil : path }
        set { path = newValue ?? "" }
    }

    func check(_ section: borrowing Section) {
        if !section.has("path") {
            section.problem("path", "is missing; kind file appends logs to it")
        } else if path.isEmpty {
            // It could not be read, which is reported.
        } else if !path.hasPrefix("/") {
            section.problem("path", "is not absolute; write it as /var/log/sluice/archive.ndjson")
        } else if let problem = pathProblem {
            section.problem("path", problem)
        } else if let reason = guarded.reasonNotToWrite(to: path) {
            section.problem("path", "\(reason), which logs would destroy; choose another path")
        }
    }
}

extension FileTarget.Rotation: SettingGroup {
    static var settings: [Setting<FileTarget.Rotation>] {
        Setting("bytes", \.bytes, .size(1 << 20...1 << 40)) {
            "a file that has so many is put aside"
        }
        .default("none: by age alone")
        Setting("age", \.age, .duration(.seconds(60) ... .seconds(366 * 86_400))) {
            "so is one whose first log was written so long ago"
        }
        .default("none: by size alone")
        Setting("keep", \.keep, .count(1...10_000)) { "how many such files are kept" }
        Setting("compress", \.compression, .word) {
            "`gzip` or `zstd`: how they are compressed"
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
    package func reasonNotToWrite(to file: CInt, _ facts: stat) -> String? {
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
    fileprivate static func resolvedPath(_ path: String) -> String {
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

extension FileTarget {
    /// True if this destination would remove or compress the other one's file, as an archive.
    func takesForArchive(_ other: FileTarget) -> Bool {
        other.resolvedDirectory == resolvedDirectory && ArchiveName(other.name, of: name) != nil
    }
}

/// The name of an archive, taken apart.
package struct ArchiveName: Comparable {
    package static let partial = ".partial"

    package let name: String
    /// The name without what compression added.
    package let original: String
    private let time: String
    private let number: Int
    package let isCompressed: Bool
    /// An unfinished compression.
    package let isPartial: Bool

    /// nil for the name of anything else.
    package init?(_ name: String, of file: String) {
        guard name.hasPrefix("\(file).") else { return nil }
        var rest = name.dropFirst(file.count + 1)
        isPartial = rest.hasSuffix(Self.partial)
        if isPartial { rest = rest.dropLast(Self.partial.count) }
        let suffix = FileTarget.Compression.allCases.map(\.suffix)
            .first { !$0.isEmpty && rest.hasSuffix($0) }
        isCompressed = suffix != nil
        rest = rest.dropLast(suffix?.count ?? 0)
        let parts = rest.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 2, Self.isTime(parts[0]), let number = Int(parts[1]), number > 0,
            "\(number)" == parts[1], !isPartial || isCompressed
        else { return nil }
        self.name = name
        original = "\(file).\(rest)"
        time = String(parts[0])
        self.number = number
    }

    private static func isTime(_ text: Substring) -> Bool {
        let bytes = Array(text.utf8)
        return bytes.count == 16
            && bytes.enumerated().allSatisfy { index, byte in
                switch index {
                case 8: byte == UInt8(ascii: "T")
                case 15: byte == UInt8(ascii: "Z")
                default: (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
                }
            }
    }

    /// "20250114T083000Z"
    package static func text(_ time: WallTime) -> String {
        String(time.rfc3339.prefix(19).filter { $0 != "-" && $0 != ":" }) + "Z"
    }

    package static func < (left: ArchiveName, right: ArchiveName) -> Bool {
        (left.time, left.number, left.name) < (right.time, right.number, right.name)
    }
}
