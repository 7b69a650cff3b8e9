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
