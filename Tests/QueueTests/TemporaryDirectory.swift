import Glibc
import Queue

/// A directory of the test's own, gone with the value.
final class TemporaryDirectory: Sendable {
    let path: String
    /// Where it lies, and what its name begins with.
    private let place: String

    init(_ place: String = "/tmp/sluice-queue-") {
        self.place = place
        var template = Array("\(place)XXXXXX".utf8CString)
        guard let made = mkdtemp(&template) else { preconditionFailure("no temporary directory") }
        path = String(cString: made)
    }

    deinit {
        remove(path)
    }

    private func remove(_ path: String) {
        if let listing = opendir(path) {
            while let entry = readdir(listing) {
                let name = withUnsafeBytes(of: &entry.pointee.d_name) {
                    String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
                }
                if name != ".", name != ".." { remove(path + "/" + name) }
            }
            closedir(listing)
        }
        _ = Glibc.remove(path)
    }

    /// The names in it, sorted.
    var names: [String] { Self.names(in: path) }

    static func names(in path: String) -> [String] {
        var names: [String] = []
        guard let listing = opendir(path) else { return [] }
        defer { closedir(listing) }
        while let entry = readdir(listing) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) {
                String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names.sorted()
    }

    /// A copy of what is on disk now, as a crash at this moment would leave it.
    func copy() -> TemporaryDirectory {
        let copy = TemporaryDirectory(place)
        for name in names where !name.hasSuffix("-shm") {
            writeFile(copy.path + "/" + name, readFile(path + "/" + name))
        }
        return copy
    }
}

func readFile(_ path: String) -> [UInt8] {
    guard let file = fopen(path, "r") else { return [] }
    defer { fclose(file) }
    var about = stat()
    fstat(fileno(file), &about)
    var bytes = [UInt8](repeating: 0, count: Int(about.st_size))
    let count = fread(&bytes, 1, bytes.count, file)
    return Array(bytes.prefix(count))
}

func writeFile(_ path: String, _ bytes: [UInt8]) {
    guard let file = fopen(path, "w") else { return }
    defer { fclose(file) }
    fwrite(bytes, 1, bytes.count, file)
}
